# Set-up of a tutorial's shell, as the first process of mount, network and process namespaces of its
# own: nothing of the tutorial is on the machine afterwards. Arguments: folder of the program, folder
# of the tutorial, its commands.
groups=$(mktemp -d "$2/groups.XXXXXX")
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --move "$groups" /sys/fs/cgroup
rmdir "$groups"
for folder in /run /etc/kea /var/lib/kea /var/log/kea; do
    if [ -d $folder ]; then mount -t tmpfs tmpfs $folder; fi
done
mkdir -p /run/netns /run/lock/kea
ip link set lo up
PATH=$1:$PATH
cd "$2"
mkdir work
chmod 755 work
cd work
exec bash -e "$3"
