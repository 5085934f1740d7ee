# Makes the folder "$1": a disk with a fresh Debian 12, its kernel and its first file system.
# Arguments: the folder, the mirror, the packages, the unit that runs the test, packages of Kea.
set -e
folder=$1 mirror=$2 packages=$3 unit=$4 kea=$5
PATH=$PATH:/usr/sbin:/sbin
rm -rf --one-file-system "$folder" "$folder.new"
mkdir -p "$folder.new"
root=$folder.new/root
mmdebstrap --variant=apt --include="$packages" \
    --customize-hook='echo machine >"$1/etc/hostname"' \
    --customize-hook="cp '$unit' \"\$1/etc/systemd/system/package-test.service\"" \
    --customize-hook='chroot "$1" systemctl enable package-test.service' \
    --customize-hook="chroot \"\$1\" apt-get -y -q --no-install-recommends --download-only \
        install $kea" \
    --customize-hook='mkdir "$1/opt/kea" && mv "$1"/var/cache/apt/archives/*.deb "$1/opt/kea"' \
    bookworm "$root" "deb $mirror bookworm main"
cp -L "$root/vmlinuz" "$root/initrd.img" "$folder.new/"
mke2fs -q -t ext4 -d "$root" "$folder.new/disk" 3G
rm -rf --one-file-system "$root"
mv "$folder.new" "$folder"
