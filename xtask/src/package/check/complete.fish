# Prints the words with which fish completes `godwit lab re` and `godwit dhcp4 --acc`.
source $argv[1]/fish/vendor_completions.d/godwit.fish
complete -C 'godwit lab re'
complete -C 'godwit dhcp4 --acc'
