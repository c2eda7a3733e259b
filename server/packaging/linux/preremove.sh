#!/bin/sh
# Runs before the files go; at an upgrade the service goes on with the old program until the new one is there.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now schakel.service schakel-backup.timer || true
	fi
	;;
esac
