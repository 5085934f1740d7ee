# Prints the words with which bash completes `godwit lab re` and `godwit dhcp4 --acc`.
. "$1/bash-completion/completions/godwit"
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    function_name=$(complete -p godwit | sed -n 's/.* -F \([^ ]*\) .*/\1/p')
    "$function_name" godwit "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}"
}
complete_words godwit lab re
complete_words godwit dhcp4 --acc
