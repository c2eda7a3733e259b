#!/bin/sh
# Runs before the files of the package are written, some of which belong to this user.
set -e
getent group schakel >/dev/null || groupadd --system schakel
getent passwd schakel >/dev/null ||
	useradd --system --gid schakel --home-dir /var/lib/schakel --no-create-home --shell /usr/sbin/nologin --comment Schakel schakel
