# Makes the folder "$1": a kernel of Debian that has DCCP, and a root file system for it.
# Arguments: the folder, the file of init, the modules, the programs of this machine to copy.
set -e
folder=$1 init=$2 modules=$3 programs=$4
PATH=$PATH:/usr/sbin:/sbin
rm -rf --one-file-system "$folder" "$folder.new"
mkdir -p "$folder.new/packages" "$folder.new/files/bin" "$folder.new/files/lib"
cd "$folder.new/packages"
fetch() {
    image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p' | head -n 1)
    [ -n "$image" ] && apt-get -q download "$image" busybox-static
}
# The machine's lists of packages may be missing or old.
fetch || { apt-get -q update && fetch; }
for package in *.deb; do dpkg -x "$package" unpacked; done
version=$(ls unpacked/lib/modules)
depmod -b unpacked "$version"
cd "$folder.new/files"
cp ../packages/unpacked/bin/busybox bin/busybox
for module in $modules; do
    modprobe -d ../packages/unpacked -S "$version" --show-depends "$module" |
        sed -n 's/^insmod \([^ ]*\).*/\1/p'
done | sort -u | while read -r file; do
    place=${file#*unpacked/}
    install -D -m 644 "$file" "$place"
done
cp ../packages/unpacked/lib/modules/"$version"/modules.builtin lib/modules/"$version"/
cp ../packages/unpacked/lib/modules/"$version"/modules.order lib/modules/"$version"/
depmod -b . "$version" 2>/dev/null
for program in $programs; do
    path=$(command -v "$program")
    cp -L "$path" bin/
    ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
        [ -e ".$library" ] || install -D "$library" ".$library"
    done
done
printf '%s\n' "$modules" >modules
install -m 755 "$init" init
find . | cpio -o -H newc --quiet | gzip -1 >../initrd
cp ../packages/unpacked/boot/vmlinuz-"$version" ../vmlinuz
cd ..
rm -rf packages files
echo "$version" >version
cksum "$init" | cut -d ' ' -f 1,2 >made-of
echo "$modules $programs" >>made-of
mv "$folder.new" "$folder"
