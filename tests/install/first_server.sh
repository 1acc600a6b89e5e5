#!/usr/bin/env bash
# From a bare folder to a site on a domain of its own over HTTPS, then a backup in a bucket and its
# restore on PostgreSQL: the steps of docs/install.md and docs/backup.md, on one machine and without
# root. Call it in an empty folder with a new HOME:
#
#   DIST=…/dist BACKUP=s3://bucket/masthead.tar POSTGRES=postgresql://… PORTS="8000 8080 8443" first_server.sh
#
# with the AWS_ variables of the bucket. It needs Python, curl and Caddy. Unlike on a server, no
# systemd starts the service, Caddy has an authority of its own, and curl is told the names' address.
set -euo pipefail
: "${DIST:?the folder that make dist has written}"
: "${BACKUP:?where the backup goes}"
: "${POSTGRES:?an empty database}"
: "${PORTS:?of the service, of Caddy for http, of Caddy for https}"
read -r port http_port https_port <<<"$PORTS"
domain=blogs.example own=garden.example
here=$PWD masthead=$PWD/venv/bin/masthead

step() { printf '\n== %s\n' "$*"; }
stop_all() { jobs -p | xargs -r kill 2>/dev/null || true; wait; }
trap stop_all EXIT

# An address over HTTPS, whose names are all at this machine.
web() {
  curl --fail-with-body -sS --cacert caddy/pki/authorities/local/root.crt \
    --resolve "*:$https_port:127.0.0.1" "$@"
}

start_service() {
  # As systemd does with the unit: the same command, with the same settings.
  $(sed -n 's/^ExecStart=//p' masthead.service) >>service.log 2>&1 &
  service=$!
  curl -sf -o health.json --retry 120 --retry-connrefused --retry-delay 1 \
    "http://127.0.0.1:$port/api/health"
  cat health.json && echo
}

step "Install the wheel"
if [ ! -x "$masthead" ]; then
  python3 -m venv venv
  venv/bin/pip install -q --find-links "$DIST" -r "$DIST/constraints.txt"
fi
"$masthead" --version

step "Set up the server"
"$masthead" init --user "$(id -un)" --domain "$domain" --dir "$here/srv" --port "$port" \
  --unit "$here/masthead.service" --proxy caddy "$here/Caddyfile"
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify --man=no ./masthead.service
fi

step "Start the service"
set -a && . srv/masthead.env && set +a
start_service

step "Start Caddy"
sed "0,/^{/s##{\n\tlocal_certs\n\tskip_install_trust\n\tadmin off\n\thttp_port $http_port\n\thttps_port $https_port\n\tstorage file_system $here/caddy#" \
  Caddyfile >Caddyfile.here
caddy run --config Caddyfile.here --adapter caddyfile >caddy.log 2>&1 &
until [ -f caddy/pki/authorities/local/root.crt ]; do sleep 0.2; done

step "Create an operator and the first site, on its own domain"
"$masthead" operator create --email you@example.com --password - <<<'a long password'
"$masthead" tenant create --slug garden --name Garden --plan pro --custom-domain "$own" \
  --owner-email anne@example.com --owner-password - <<<'another long password'
"$masthead" settings set --tenant garden ai_api_key=- <<<'a secret of the site'
key=$("$masthead" key create --tenant garden --name first --scope posts:read --scope posts:write \
  --scope media:write --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["key"])')

step "Publish a post and a picture over HTTPS"
printf '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><path d="M0 0h8v8z"/></svg>' >leaf.svg
web "https://$own:$https_port/api/v1/posts" -H "Authorization: Bearer $key" \
  --json '{"title": "First light", "content_html": "<p>The garden at dawn.</p>", "status": "published"}' \
  -o post.json
web "https://$own:$https_port/api/v1/media" -H "Authorization: Bearer $key" -F file=@leaf.svg -o media.json
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["data"][sys.argv[2]])' "$@"; }
post=$(field post.json id)
picture=$(field media.json url | sed 's#https://[^/]*##')
# What readers and programs get, before and after.
record() {
  mkdir -p "$1"
  web "https://$own:$https_port/api/v1/posts/$post" -H "Authorization: Bearer $key" -o "$1/post.json"
  web "https://$own:$https_port$picture" -o "$1/picture"
  web "https://$own:$https_port/posts/first-light" -o "$1/page.html"
  grep -q 'The garden at dawn' "$1/page.html"
}
record before

step "One address: http, www and the slug's host lead there"
for other in "http://$own:$http_port" "http://garden.$domain:$http_port" "https://garden.$domain:$https_port" \
  "https://www.$own:$https_port"; do
  location=$(web --resolve "*:$http_port:127.0.0.1" -o /dev/null -w '%{http_code} %{redirect_url}' "$other/posts/first-light")
  echo "$other: $location"
  [ "$location" = "301 https://$own/posts/first-light" ]
done

step "A stranger's name has no certificate made"
if web -o /dev/null "https://stranger.example:$https_port/"; then
  exit 1
fi

step "Back up to the bucket while the service runs"
"$masthead" backup "$BACKUP"
"$masthead" backup verify "$BACKUP"
kill "$service" && wait "$service"

step "Restore on PostgreSQL"
export MASTHEAD_DATA_DIR=$here/restored MASTHEAD_DATABASE_URL=$POSTGRES
"$masthead" restore "$BACKUP"
start_service
record after
cmp before/post.json after/post.json
cmp before/picture after/picture
"$masthead" doctor
"$masthead" tenant list

step "Done: https://$own is served from PostgreSQL"
