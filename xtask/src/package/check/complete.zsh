# Types `godwit lab re` and `godwit dhcp4 --acc` with a tab into a zsh on a terminal, and prints what
# the shell made of it.
zmodload zsh/zpty
zpty shell "env PS1= TERM=dumb zsh -f -i"
zpty -w shell "unsetopt zle_bracketed_paste; fpath=($1/zsh/vendor-completions \$fpath)"
zpty -w shell 'autoload -Uz compinit; compinit -u -D; echo is ready'
zpty -r shell printed '*is ready*is ready*'
type_in() {
    zpty -w -n shell "$1"$'\t'
    zpty -r shell printed "*$2*"
    print -r -- ${${printed//$'\r'/ }//$'\n'/ }
    zpty -w -n shell $'\C-u'
}
type_in 'godwit lab re' report
type_in 'godwit dhcp4 --acc' --accept-inactive
zpty -d shell
