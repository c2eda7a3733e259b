#!/bin/sh
# Runs after the files are gone. Data is never removed: events that were answered with 202 and the audit trail are in it.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
[ "$1" = purge ] || exit 0
rmdir /var/lib/schakel /var/backups/schakel 2>/dev/null || true
if [ -d /var/lib/schakel ] || [ -d /var/backups/schakel ]; then
	echo "The data of Schakel and its user are kept. To remove them as well: rm -r /var/lib/schakel /var/backups/schakel; userdel schakel"
else
	userdel schakel 2>/dev/null || true
fi
