# Tools say the same everywhere, and the mode of an op is the mode of the file.
LC_ALL=C
export LC_ALL
umask 0

stop() {
    printf '%s\n' "$1" >&2
    exit 2
}

needs_c() {
    printf 'needs the C script: %s\n' "$1" >&2
}

needs_tool() {
    command -v "$1" >/dev/null || stop "could not find $1: install the package $2"
}

# Goes to the directory, and finds out which part is to run.
enter() {
    parts=$1
    usage='usage: sh repro.sh DIR [--after-recovery[=N]]'
    [ $# -eq 2 ] || [ $# -eq 3 ] || stop "$usage"
    case ${3-} in
    '') part=0 ;;
    --after-recovery) part=1 ;;
    --after-recovery=[1-9]) part=${3#*=} ;;
    --after-recovery=[1-9][0-9]) part=${3#*=} ;;
    *) stop "$usage" ;;
    esac
    [ "$part" -lt "$parts" ] || stop "nothing happens in this trace after recovery $part"
    [ -d "$2" ] || stop "could not use $2: not a directory"
    case $2 in
    /*) cd "$2" || exit 2 ;;
    *) cd "./$2" || exit 2 ;;
    esac
    out=$(find . -type l \( -lname '/*' -o -lname '..' -o -lname '../*' -o -lname '*/..' -o -lname '*/../*' \) \
        -print -quit 2>/dev/null)
    [ -z "$out" ] || stop "could not use $2: the symlink $out may lead out of it"
}

# Does an op: says what it is, does it, says what came of it.
run() {
    printf '%s\n' "$1"
    shift
    if said=$("$@" 2>&1 </dev/null); then
        printf '    = ok\n'
    else
        printf '    = failed\n'
    fi
    [ -z "$said" ] || printf '%s\n' "$said" | sed 's/^/      /'
}

cut_power() {
    printf '%s\n' "$1"
    shift
    printf '    %s\n' "$@"
    exit 0
}

fails() {
    printf '%s\n' "$1"
    return 1
}

create_file() {
    umask "$1"
    dd if=/dev/null of="$2" count=0 conv=excl,notrunc status=none
}

make_dir() {
    umask "$1"
    mkdir "$2"
}

# Prints the bytes. The status of a pipe is that of its end, so the reader reports on a channel of its own.
read_range() {
    [ ! -d "$1" ] || fails 'Is a directory' || return
    {
        failed=$({
            { dd if="$1" skip="$2" count="$3" iflag=skip_bytes,count_bytes status=none || echo yes >&3; } |
                od -A d -t x1 >&4
        } 3>&1)
    } 4>&1
    [ -z "$failed" ]
}

fill() {
    head -c "$1" /dev/zero | tr '\000' "\\$2"
}

write_at() {
    if [ "$3" -eq 0 ]; then
        dd if=/dev/null of="$1" count=0 conv=notrunc,nocreat status=none
    else
        fill "$3" "$4" | dd of="$1" bs="$3" count=1 iflag=fullblock \
            seek="$2" oflag=seek_bytes conv=notrunc,nocreat status=none
    fi
}

append() {
    if [ "$2" -eq 0 ]; then
        write_at "$1" 0 0 000
    else
        fill "$2" "$3" | dd of="$1" bs="$2" count=1 iflag=fullblock oflag=append conv=notrunc,nocreat status=none
    fi
}

# These two tools would create what is missing.
set_size() {
    [ -e "$1" ] || fails 'No such file or directory' || return
    truncate -c -s "$2" "$1"
}

allocate() {
    [ -e "$1" ] || fails 'No such file or directory' || return
    file=$1 offset=$2 len=$3
    shift 3
    fallocate "$@" -o "$offset" -l "$len" "$file"
}

# mv is more than the system call: it removes one of two names of one file, and keeps a symlink from replacing what it
# leads to.
rename_over() {
    perl -e 'rename($ARGV[0], $ARGV[1]) or die "$!\n"' "$1" "$2"
}

rename_to_new() {
    if [ -e "$2" ] || [ -L "$2" ]; then
        fails 'File exists'
    else
        rename_over "$1" "$2"
    fi
}

remount() {
    echo 'note: to unmount and mount needs root; synced instead'
    sync -f .
}
