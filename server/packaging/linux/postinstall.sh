#!/bin/sh
# Runs after the files are there, at the first installation and at each upgrade.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A service that runs is the old program: start the new one, which brings the database to its version.
	systemctl try-restart schakel.service || true
fi
case "$1" in
configure) [ -z "$2" ] || exit 0 ;; # Debian: with the version before
1) ;;                               # rpm: the first installation
*) exit 0 ;;
esac
cat <<'END'
Schakel is installed and not started. Fill in /etc/schakel/schakel.yaml, then:
  systemctl enable --now schakel schakel-backup.timer
  journalctl -u schakel | grep 'Create the administrator'
END
