#!/bin/sh
# Before removal, but not before an upgrade: stop the service. Its data stays in /var/lib/svc.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now svc.service
fi
