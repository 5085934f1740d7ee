# Runs mdBook in the root folder of another system, as root and in a mount namespace of its own.
# Arguments: that root folder, the folder of the manual's sources, the folder of the site.
root=$1 sources=$2 site=$3
mount --bind "$sources" "$root/srv" || exit 125
mount --bind "$site" "$root/mnt" || exit 125
exec chroot "$root" mdbook build --dest-dir /mnt /srv
