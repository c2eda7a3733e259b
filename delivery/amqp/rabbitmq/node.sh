# Runs a private RabbitMQ node in the folder $1 with the programs of $2, inside the
# root $3 when that is not empty (the folder is then below it). Reads commands, one a
# line: start, kill (as kill -9 does), stop; answers each with a line. When its input
# closes, which the kernel sees to also when the program is killed, the node ends and
# the folder goes.
trap '' PIPE # an answer that nobody reads any more must not end this shell before the node
dir=$1 programs=$2 root=$3
inner=${dir#"$root"}
cd "$dir" || exit 1
pid=

inside() {
	[ -n "$root" ] || exec "$@"
	exec unshare --mount -- /bin/sh -c '
		root=$1; shift
		mount --make-rprivate / 2>/dev/null
		# What others mounted from files they may want to unmount for good.
		while read -r device at _; do
			case $device in /dev/loop*) umount --lazy "$at" 2>/dev/null ;; esac
		done </proc/self/mounts
		mount -t proc proc "$root/proc" 2>/dev/null
		mount --rbind /dev "$root/dev" 2>/dev/null
		exec chroot "$root" "$@"' sh "$root" "$@"
}

export HOME=$inner LC_ALL=C.UTF-8 RUNNING_UNDER_SYSTEMD=yes
export RABBITMQ_CONF_ENV_FILE=$inner/none RABBITMQ_CONFIG_FILE=$inner/rabbitmq RABBITMQ_ADVANCED_CONFIG_FILE=$inner/none
export RABBITMQ_ENABLED_PLUGINS_FILE=$inner/enabled_plugins RABBITMQ_MNESIA_BASE=$inner/data RABBITMQ_LOG_BASE=$inner/log
export RABBITMQ_LOGS=- RABBITMQ_PID_FILE=$inner/pid RABBITMQ_GENERATED_CONFIG_DIR=$inner/generated RABBITMQ_SCHEMA_DIR=$inner/schema
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+sbwt none +sbwtdcpu none +sbwtdio none'

(inside epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1) >epmd.out 2>&1 </dev/null &
epmd=$!

started() {
	: >out
	(inside "$programs/rabbitmq-server") >>out 2>&1 </dev/null &
	pid=$!
	until grep -qs 'completed with' out; do
		kill -0 $pid 2>/dev/null && kill -0 $PPID 2>/dev/null || return 1
		sleep 0.05
	done
}
ended() {
	[ -z "$pid" ] || kill "-$1" $pid 2>/dev/null
	[ -z "$pid" ] || wait $pid 2>/dev/null
	pid=
}

while read -r command; do
	case $command in
	start) if started; then echo ready; else tail -n 30 out | tr '\n' '|'; echo; fi ;;
	kill) ended KILL; echo killed ;;
	stop) ended TERM; echo stopped ;;
	esac
done
ended KILL
kill -KILL $epmd 2>/dev/null
wait $epmd 2>/dev/null
cd /
rm -rf "$dir"
