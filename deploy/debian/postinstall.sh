#!/bin/sh
# After installation and upgrade: systemd reads the unit, and a service that runs gets the new binary.
# A new installation is started by the administrator, who has set its settings before.
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart svc.service
fi
