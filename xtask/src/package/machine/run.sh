# Test of the packages in a Debian 12 that systemd has booted. /test/1 and /test/2 have packages of
# two versions. Prints `ok NAME` or `not ok NAME` for each check, `figure NAME VALUE`, other lines
# as remarks, and `done` at the end.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec 2>&1
cd /test || exit 1

# check NAME COMMAND...: runs the command and prints its output if it fails.
check() {
    local name=$1 printed
    shift
    if printed=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "not ok $name"
        printf '%s\n' "$printed" | tail -n 30 | sed 's/^/    /'
    fi
}
# is EXPECTED COMMAND...: compares what the command prints.
is() {
    local expected=$1 printed
    shift
    printed=$("$@")
    [ "$printed" = "$expected" ] || { echo "expected: $expected"; echo "printed: $printed"; false; }
}
# until_true COMMAND...: repeats the command until it holds, for two minutes at most.
until_true() {
    local tries=600
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || { "$@"; return 1; }
        sleep 0.2
    done
}
state() { systemctl is-active "$1" || :; }
shown() { systemctl show --value -p "$2" "$1"; }
main_program() { readlink "/proc/$(shown "$1" MainPID)/exe"; }
install_version() { dpkg -i /test/"$1"/*.deb; }

# client4: lets a client of DHCPv4 ask; prints its address.
client4() {
    rm -f /tmp/leases4
    ip netns exec client dhclient -1 -4 -sf /bin/true -lf /tmp/leases4 -pf /tmp/client4.pid c0 \
        >/tmp/client4.log 2>&1 || { cat /tmp/client4.log; return 1; }
    kill "$(cat /tmp/client4.pid)" 2>/dev/null
    sed -n 's/^ *fixed-address \(.*\);/\1/p' /tmp/leases4 | tail -n 1
}
client6() {
    rm -f /tmp/leases6
    ip netns exec client dhclient -1 -6 -sf /bin/true -lf /tmp/leases6 -pf /tmp/client6.pid c0 \
        >/tmp/client6.log 2>&1 || { cat /tmp/client6.log; return 1; }
    kill "$(cat /tmp/client6.pid)" 2>/dev/null
    sed -n 's/^ *iaaddr \(.*\) {/\1/p' /tmp/leases6 | tail -n 1
}
# page: the first line of what the lab's server answers.
page() {
    exec 3<>/dev/tcp/127.0.0.1/8067 || return 1
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:8067\r\nConnection: close\r\n\r\n' >&3
    head -n 1 <&3 | tr -d '\r'
    exec 3>&-
}

network() {
    # The profile of Debian's client does not let it use files in /tmp. Without the link the profile
    # comes back when all are loaded again, as some packages do.
    ln -s /etc/apparmor.d/sbin.dhclient /etc/apparmor.d/disable/
    apparmor_parser -R /etc/apparmor.d/sbin.dhclient
    ip netns add client
    ip link add s0 type veth peer name c0 netns client
    sysctl -q -w net.ipv6.conf.s0.accept_dad=0
    ip netns exec client sysctl -q -w net.ipv6.conf.c0.accept_dad=0
    ip addr add 192.0.2.1/24 dev s0
    ip addr add 2001:db8:1::1/64 dev s0
    ip link set s0 up
    ip -n client link set lo up
    ip -n client link set c0 up
}
configure() {
    for family in 4 6; do
        sed 's/"eth0"/"s0"/' \
            "/usr/share/doc/godwit-dhcp-server/examples/kea-dhcp$family.conf" \
            >"/etc/kea/kea-dhcp$family.conf"
    done
}

test_install() {
    check 'the packages install' install_version 1
    check 'the user of Kea exists' id _kea
    for folder in /run/kea /var/lib/kea /var/log/kea; do
        check "$folder is the user's" is '750 _kea _kea' stat -c '%a %U %G' "$folder"
    done
    for unit in godwit-dhcp4 godwit-dhcp6 godwit-lab; do
        check "$unit is not enabled" is disabled systemctl is-enabled "$unit"
        check "$unit does not run" is inactive state "$unit"
    done
    systemctl start godwit-dhcp4
    check 'without a configuration the server does not start' is inactive state godwit-dhcp4
    check 'a manual page is there' test -s /usr/share/man/man1/godwit-dhcp4.1.gz
}

test_serving() {
    configure
    check 'the example is valid' godwit dhcp4 -t /etc/kea/kea-dhcp4.conf
    check 'the server starts' systemctl enable --now godwit-dhcp4
    check 'it reports to systemd' is 'serving 1 subnet on port 67' shown godwit-dhcp4 StatusText
    check 'a client gets an address' is 192.0.2.100 client4
    pid=$(shown godwit-dhcp4 MainPID)
    check 'it runs as the user of Kea' is _kea stat -c %U "/proc/$pid"
    check 'it has three capabilities' is 0000000000003400 \
        sed -n 's/^CapEff:\t//p' "/proc/$pid/status"
    check 'AppArmor confines it' is 'godwit-dhcp-server (enforce)' cat "/proc/$pid/attr/current"
    check 'the lease file is where Kea has it' is '640 _kea' \
        stat -c '%a %U' /var/lib/kea/kea-leases4.csv
    check 'so is the control socket' test -S /run/kea/kea4-ctrl-socket
    check 'it confines itself' is '' grep_journal godwit-dhcp4 'keeps rights'
    sed -i 's|"subnet4": \[|&\n{ "id": 2, "subnet": "198.51.100.0/24" },|' /etc/kea/kea-dhcp4.conf
    check 'the server reloads' systemctl reload godwit-dhcp4
    check 'it has the new subnet' \
        until_true is 'serving 2 subnets on port 67' shown godwit-dhcp4 StatusText
    check 'it is the same process' is "$pid" shown godwit-dhcp4 MainPID
    check 'the DHCPv6 server starts' start_or_show godwit-dhcp6
    check 'a client gets an IPv6 address' is 2001:db8:1::1000 client6
    check 'the server of results starts' systemctl start godwit-lab
    check 'it shows its page' is 'HTTP/1.1 200 OK' page
    for unit in godwit-dhcp4 godwit-dhcp6 godwit-lab; do
        check "$unit is exposed at most 2.0" \
            systemd-analyze security --no-pager --threshold=20 "$unit"
        figure=$(systemd-analyze security --no-pager "$unit" | sed -n 's/.*exposure.*: \([0-9.]*\) .*/\1/p')
        echo "figure exposure of $unit $figure"
    done
}
start_or_show() { systemctl start "$1" || { journalctl -b -o cat -u "$1" | tail -n 20; false; }; }
grep_journal() { journalctl -b -o cat -u "$1" | grep "$2" || :; }

test_watchdog() {
    mkdir -p /run/systemd/system/godwit-dhcp4.service.d
    printf '[Service]\nWatchdogSec=4\n' >/run/systemd/system/godwit-dhcp4.service.d/watchdog.conf
    systemctl daemon-reload
    systemctl restart godwit-dhcp4
    sleep 10
    check 'a server that lives is left alone' is 0 shown godwit-dhcp4 NRestarts
    kill -STOP "$(shown godwit-dhcp4 MainPID)"
    check 'a server that hangs is started again' until_true is 1 shown godwit-dhcp4 NRestarts
    check 'it serves again' until_true is 'serving 2 subnets on port 67' shown godwit-dhcp4 StatusText
    rm -r /run/systemd/system/godwit-dhcp4.service.d
    systemctl daemon-reload
    systemctl restart godwit-dhcp4
}

test_upgrade() {
    before=$(shown godwit-dhcp4 MainPID)
    check 'the next version installs' install_version 2
    check 'the server still runs' is active state godwit-dhcp4
    check 'it was started again' test "$before" != "$(shown godwit-dhcp4 MainPID)"
    check 'the configuration stays' grep -q 198.51.100.0 /etc/kea/kea-dhcp4.conf
    check 'the client keeps its address' is 192.0.2.100 client4
}

test_rotation() {
    echo line >/var/log/kea/test.log
    chown _kea: /var/log/kea/test.log
    check 'log files are rotated' logrotate -f /etc/logrotate.d/godwit-dhcp-server
    check 'the old lines are kept' sh -c 'grep -q line /var/log/kea/test.log-*'
    check 'the file is empty' is 0 stat -c %s /var/log/kea/test.log
}

test_change_over() {
    systemctl disable --now godwit-dhcp4 godwit-dhcp6
    check "Kea's package installs beside Godwit's" \
        dpkg -i --force-confold --force-confdef /opt/kea/*.deb
    check 'Kea serves' until_true is active state kea-dhcp4-server
    check 'Kea keeps the address' is 192.0.2.100 client4
    # As the manual prints it.
    install -D -m 644 /usr/share/godwit-dhcp-server/kea-dhcp4-server.conf \
        /etc/systemd/system/kea-dhcp4-server.service.d/godwit.conf
    systemctl daemon-reload
    check "Godwit starts in Kea's place" systemctl restart kea-dhcp4-server
    check "Kea's unit runs Godwit" is /usr/bin/godwit main_program kea-dhcp4-server
    check 'Godwit keeps the address' is 192.0.2.100 client4
    check "Kea's unit is exposed at most 2.0" \
        systemd-analyze security --no-pager --threshold=20 kea-dhcp4-server
    rm /etc/systemd/system/kea-dhcp4-server.service.d/godwit.conf
    systemctl daemon-reload
    check 'Kea starts again' systemctl restart kea-dhcp4-server
    check "Kea's unit runs Kea" is /usr/sbin/kea-dhcp4 main_program kea-dhcp4-server
    check 'Kea has the address of Godwit' is 192.0.2.100 client4
}

test_removal() {
    check 'the packages are purged beside Kea' apt-get -y -q purge godwit-dhcp-server godwit
    check 'the leases of Kea stay' test -s /var/lib/kea/kea-leases4.csv
    check 'Kea still serves' is active state kea-dhcp4-server
    check 'Kea is purged' apt-get -y -q purge '^kea-'
    install_version 2 >/dev/null
    configure
    systemctl start godwit-dhcp4
    check 'the server runs without Kea' is active state godwit-dhcp4
    check 'the packages are purged' apt-get -y -q purge godwit-dhcp-server godwit
    check 'the server has ended' is inactive state godwit-dhcp4
    for path in /var/lib/kea /var/log/kea /run/kea /usr/bin/godwit \
        /etc/apparmor.d/godwit-dhcp-server /etc/logrotate.d/godwit-dhcp-server \
        /usr/share/godwit-dhcp-server /usr/share/doc/godwit; do
        check "$path is gone" test ! -e "$path"
    done
    check 'no file of the packages is left' \
        is '' find / -xdev -path /test -prune -o -iname '*godwit*' -print
}

echo "kernel $(uname -r), $(. /etc/os-release; echo "$PRETTY_NAME")"
network
test_install
test_serving
test_watchdog
test_upgrade
test_rotation
test_change_over
test_removal
check 'AppArmor denied nothing' is '' \
    sh -c "journalctl -b -o cat | grep 'apparmor=\"DENIED\"' | grep godwit || :"
echo done
