#!/bin/busybox sh
# The first process of the virtual machine: takes commands, one on each line of its virtio port, and answers
# each with what it printed and a last line `exit CODE`.
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /sbin /usr/bin /usr/sbin
/bin/busybox --install /bin 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
for module in $(cat /modules); do
    modprobe "$module" || echo "no module $module"
done
/bin/ip link set lo up
/bin/ip link set eth0 address 02:67:77:33:00:02
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
/bin/ip link set eth0 up
/bin/ip addr add 10.33.0.2/24 dev eth0
/bin/ip addr add fd33::2/64 dev eth0
# A packet that asks for a neighbour must not be lost where loss is emulated.
for address in 10.33.0.1 fd33::1; do
    /bin/ip neigh replace "$address" lladdr 02:67:77:33:00:01 dev eth0 nud permanent
done
# The kernel names the port a moment after it has loaded the module.
until port=$(ls /dev/vport*p* 2>/dev/null); do sleep 0.1; done
exec 3<>"$port"
echo "ready $(uname -r)" >&3
while read -r line <&3; do
    sh -c "$line" >/tmp/printed 2>&1 </dev/null
    code=$?
    cat /tmp/printed >&3
    printf '\nexit %s\n' "$code" >&3
done
