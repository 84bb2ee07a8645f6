"""Names that do the same work, of which a thing uses one at a time."""

from __future__ import annotations

from typing import Final

# kind | words that say nothing but the kind | names; "rest~call" only where the entry has "call".
# A name of several words is written with underscores.
NAMES: Final = """
branch | branch pr merge | main~branch master~branch trunk~branch develop~branch mainline
region | region host | frankfurt~host paris~region london~region stockholm~host dublin~region
region | region host | francfort~héberg francfort~region stockholm~héberg frankfurt~region
region | region host | londres~région paris~région
log level | log level | debug~level info~level warn~level error~level trace~level warning~level
encoding | encoding encoded charset | utf-8 utf-16 latin-1 iso-8859-1 iso-8859-15 windows-1252
encoding | encoding encoded charset | ascii shift-jis cp1252 windows-1250 utf-16le ebcdic gb18030
eviction | eviction policy | allkeys-lru allkeys-lfu noeviction volatile-lru volatile-ttl
eviction | eviction policy | volatile-lfu allkeys-random
python format | format | black~format yapf autopep8 ruff
web format | format | prettier dprint biome~format
web lint | lint linter | eslint biome oxlint tslint standardjs xo~lint jshint
python lint | lint linter | flake8 pylint ruff
python types | type check checker | mypy pyright pyre basedpyright
jvm format | format | ktfmt ktlint google-java-format spotless
php format | format style | php-cs-fixer pint~php phpcs
ruby lint | lint style | rubocop standardrb
sql format | format lint | sqlfluff pgformatter sqlfmt
go lint | lint | golangci-lint staticcheck
web packages | package manager dependency install | npm pnpm yarn bun
python packages | package manager dependency install | pip poetry uv pdm pipenv conda hatch
python packages | package manager dependency install | pip-tools
monorepo | monorepo | nx~monorepo turborepo lerna rush~monorepo
web tests | test runner suite | jest vitest mocha jasmine karma ava~test
python tests | test runner suite | pytest unittest nose
java tests | test runner suite | junit testng spock
php tests | test runner suite | phpunit pest~php codeception
ruby tests | test runner suite | rspec minitest
.net tests | test runner suite | xunit nunit mstest
browser tests | test suite browser | playwright cypress selenium testcafe puppeteer webdriverio
load tests | test load | gatling k6 jmeter locust artillery vegeta wrk
mobile tests | test mobile | detox appium maestro espresso
mocks | mock | mockito mockk easymock
contracts | contract | pact~contract spring_cloud_contract
database | database relational store backed | postgresql mysql mariadb oracle mongodb sqlite mssql
database | database relational store backed | cockroachdb couchdb dynamodb cassandra firestore
database | database relational store backed | scylladb yugabytedb tidb spanner cosmosdb h2 neo4j
database | database relational store backed | timescaledb influxdb sql_server db2 firebird hbase
database | database relational store backed | rocksdb duckdb planetscale
warehouse | warehouse query | bigquery snowflake redshift clickhouse databricks synapse trino
warehouse | warehouse query | athena
search | search full-text | elasticsearch opensearch solr meilisearch typesense algolia
search | search full-text | postgres_full_text postgres_full-text tsvector
vectors | vector embedding | pinecone qdrant weaviate milvus pgvector chroma
cache | cache session | redis memcached valkey hazelcast dragonfly ehcache caffeine varnish
cache | cache session store | dynamodb~session postgresql~session mysql~session mongodb~session
broker | message queue broker bus | kafka rabbitmq sqs nats activemq pulsar mqtt kinesis
broker | message queue broker bus | redpanda azure_service_bus service_bus event_hubs pub/sub
broker | message queue broker bus | google_pub/sub zeromq solace ibm_mq eventbridge
jobs | task job queue worker background | celery dramatiq sidekiq resque rq huey bullmq
jobs | task job queue worker background | procrastinate oban faktory rundeck good_job solid_queue
jobs | task job queue worker background | delayed_job hangfire quartz
scheduler | schedule pipeline | airflow dagster prefect luigi argo_workflows kestra
workflows | workflow | temporal camunda cadence step_functions zeebe conductor
pipelines | ci pipeline build | jenkins circleci gitlab-ci github-actions buildkite travis
pipelines | ci pipeline build | teamcity drone~ci tekton azure_devops azure_pipelines bamboo
pipelines | ci pipeline build | bitbucket_pipelines concourse woodpecker semaphore~ci
delivery | deploy | argocd fluxcd flux~deploy spinnaker octopus capistrano
forge | repository code hosted | gitlab~repo github~repo bitbucket gitea forgejo
infrastructure | infrastructure | terraform pulumi cloudformation opentofu bicep crossplane
servers | configuration server | ansible chef~server puppet~server saltstack
charts | manifest deploy | helm kustomize jsonnet
image | image base container | alpine debian distroless ubuntu centos fedora wolfi rocky
image | image base container | amazon_linux
image tool | image build container | kaniko buildah buildkit jib buildpacks podman
orchestration | cluster container run | nomad kubernetes~cluster ecs docker_swarm swarm
orchestration | container run | cloud_run lambda~run fargate app_engine
java build | build | maven gradle bazel sbt ant~build
c build | build | cmake meson bazel scons
language | language code written | kotlin java~written scala rust golang typescript elixir c#
language | language code written | go~written_in_go go~écrit_en_go python~écrit java~écrit
language | language code written | clojure ruby~written python~written perl
login | login | okta auth0 keycloak entra cognito adfs ory onelogin ping_identity entra_id
login | login | azure_ad google_workspace zitadel authentik jumpcloud firebase_auth fusionauth
protocol of login | login token | saml oidc openid_connect ldap~log kerberos oauth2 mtls
protocol of login | login token | mutual_tls basic_auth api_key~auth api_keys~auth
protocol of login | login token | client_certificate
session | session login | session_cookie~token jwt~session server-side_session
log lines | log line format | logfmt json~log
log library | log library | log4j logback structlog loguru pino winston bunyan serilog
log store | log search | loki splunk graylog papertrail kibana elk
licence | license | mit apache-2.0 gpl-3.0 gplv3 lgpl mpl-2.0 agpl-3.0 bsd isc~licen
licence | license | bsd-3-clause bsl sspl eupl unlicense gpl-2.0 gplv2 proprietary~licen agpl
calls | call protocol | grpc rest~call graphql soap rest~grpc json_over_http plain_rest thrift
calls | call protocol | plain_json json_over_http/1.1
calls | call protocol | http~grpc json-rpc xml-rpc trpc
updates | live update push | websocket polling server-sent-events sse long-polling webhook~poll
updates | live update push | signalr webtransport
secrets | secret password credential | vault secrets-manager ssm sops doppler 1password key-vault
secrets | secret password credential | bitwarden parameter_store sealed_secrets
hash | hash password | bcrypt argon2 argon2id scrypt pbkdf2 md5 sha-256 sha-1 sha-512 sha256
hash | hash password | sha1 sha512 blake2 blake3 xxhash murmur3 crc32
cipher | encrypt cipher | aes-256-gcm aes-gcm aes-cbc chacha20 chacha20-poly1305 aes-128 aes-256
cipher | encrypt cipher | 3des pgp~encrypt gpg~encrypt age~encrypt
signature | sign token algorithm | rs256 hs256 es256 eddsa ed25519 ps256 hs512 rs512 es384
key type | key ssh | ed25519~key rsa ecdsa
compression | compress | gzip zstd brotli lz4 snappy deflate bzip2 xz zip~compress
serialisation | format encoded serialisation serialization | protobuf avro parquet flatbuffers
serialisation | format encoded serialisation serialization | messagepack msgpack cbor orc thrift
serialisation | format encoded serialisation serialization | json_schema cap'n_proto
table format | table lake | iceberg delta_lake hudi
file format | file format export import | csv~export xlsx ndjson jsonl csv~file xlsx~export
file format | file format export import | parquet~export xml~export json~export json~file
markup | documentation format written | asciidoc markdown restructuredtext mdx
settings format | configuration format file | yaml~config toml ini~config hcl dotenv
documentation site | documentation site | mkdocs docusaurus sphinx hugo antora gitbook vitepress
wiki | documentation page | confluence notion sharepoint
tracker | ticket issue bug | jira linear~ticket youtrack redmine asana trello shortcut~ticket
tracker | ticket issue bug | github_issues gitlab_issues
support | support ticket | zendesk freshdesk intercom helpscout front~support
chat | chat alert message | slack~panne slack~signal slack~annonc slack~announc slack~post
chat | chat alert message | slack~notif slack~report slack~messag slack~team teams~panne
chat | chat alert message | slack~alert mattermost discord~alert teams~alert rocket.chat
chat | chat alert message | slack~incident teams~incident microsoft_teams zulip
pager | page alert on-call | pagerduty opsgenie victorops splunk_on-call grafana_oncall
pictures | image picture format | webp avif jpeg png gif heic
video | video codec | h.264 h.265 av1 vp9 hevc
maps | map tile | mapbox google_maps openstreetmap leaflet here_maps maptiler here~map
dates | date | moment date-fns dayjs luxon
javascript orm | orm | prisma drizzle typeorm sequelize mikroorm knex kysely
python orm | orm | sqlalchemy django_orm peewee tortoise sqlmodel
java orm | orm | hibernate jooq mybatis jdbi exposed
php orm | orm | doctrine eloquent
go orm | orm | gorm sqlc ent~orm sqlx~go
migrations | migration schema | flyway liquibase alembic atlas~migration goose~migration dbmate
python http | http client request | httpx aiohttp urllib3 requests~http
python web | web framework | django flask fastapi starlette litestar sanic
js web | web framework | express~framework fastify koa~framework nestjs hono
js pages | framework page | next.js nuxt remix sveltekit astro gatsby
web ui | component framework | react vue angular svelte solidjs ember
web styles | style css | tailwind bootstrap~css styled-components css_modules emotion~css sass
java web | framework | spring_boot quarkus micronaut dropwizard
java server | server | tomcat jetty undertow wildfly
python server | server | gunicorn uvicorn hypercorn uwsgi waitress
validation | validation validate schema | zod yup joi valibot ajv
monitoring | monitoring metric | prometheus datadog newrelic cloudwatch zabbix nagios new_relic
monitoring | monitoring metric | dynatrace victoriametrics graphite influxdb
dashboards | dashboard | grafana~dashboard kibana looker metabase tableau superset power_bi
tracing | trace tracing | jaeger zipkin tempo honeycomb x-ray
errors | error report crash | sentry rollbar bugsnag crashlytics glitchtip raygun airbrake
analytics | analytics event track | amplitude mixpanel matomo posthog google_analytics plausible
analytics | analytics event track | segment~analytics piwik
mail | mail sms send message | twilio sendgrid mailgun postmark brevo mailjet vonage mailchimp
mail | mail sms send message | sparkpost messagebird amazon_ses mandrill sinch plivo resend~mail
mail | mail sms send message | ses~mail
push | push notification | onesignal firebase_cloud_messaging fcm airship pushwoosh apns~push
cards | card pay charge | stripe adyen braintree mollie paypal worldpay checkout.com payu
cards | card pay charge | square~pay klarna~pay payplug
app | app mobile | flutter react-native xamarin ionic swiftui jetpack_compose
app distribution | app distribution tester | testflight app_center firebase_app_distribution
cloud | cloud host | aws azure~cloud gcp ovhcloud scaleway hetzner google_cloud digitalocean ovh
platform | hosted deploy site | vercel netlify heroku render~deploy fly.io cloudflare_pages
storage | bucket file object photo | ovh~objet s3~bucket minio azure_blob google_cloud_storage gcs
storage | bucket file object photo | azure_blob_storage
cdn | cdn cache | cloudflare~cdn fastly cloudfront akamai bunny~cdn
dns | dns | route_53 route53 cloudflare~dns gandi
state | state store | redux zustand mobx recoil jotai pinia vuex ngrx xstate
merge | merge pr history | squash rebase~merge merge-commit fast-forward rebase~pr
indentation | indentation indent | tabs spaces
ids | id identifier key | uuidv4 uuidv7 ulid snowflake~id autoincrement nanoid cuid ksuid
ids | id identifier key | bigint_identity identity_column bigserial auto-increment uuid~key
ids | id identifier key | bigint~key serial~key ulid~key sequence~key bigint~identif
zone | time timestamp zone | utc local-time europe/paris europe/berlin europe/madrid cet
zone | time timestamp zone | america/new_york
bundler | bundle bundler build | webpack vite rollup parcel~bundl esbuild turbopack rspack
flags | flag feature toggle | launchdarkly unleash flagsmith growthbook split.io configcat flipt
flags | flag feature toggle | openfeature statsig optimizely
web server | proxy server ingress | nginx haproxy traefik envoy caddy apache~server kong
web server | proxy server ingress | ingress-nginx
mesh | mesh service | istio linkerd consul_connect
registry | package registry image push | harbor artifactory nexus verdaccio ecr docker_hub
registry | package registry image push | ghcr quay github_packages
templates | template mail | mjml twig handlebars jinja blade liquid~template mustache ejs pug
pdf | pdf render document | wkhtmltopdf weasyprint gotenberg puppeteer~pdf prince reportlab
pdf | pdf render document | playwright~pdf itext typst pandoc jasperreports
byte order | order byte field | little-endian big-endian network-byte-order
money | money amount price cents | cents~amount pence~price integer_pence bigdecimal cents~price
money | money amount price cents | minor_units~price minor_units~amount float~price float~amount
money | money amount price cents | decimal_euros decimal~price decimal~amount numeric~amount
isolation | isolation transaction | read_committed repeatable_read serializable read_uncommitted
isolation | isolation transaction | snapshot_isolation
lock | lock | pessimistic optimistic pessimistic_locking optimistic_locking advisory_lock
naming | name key case field | snake_case camelcase kebab-case pascalcase screaming_snake_case
date format | date timestamp field | iso_8601 epoch_milliseconds epoch_seconds unix_timestamp
date format | date timestamp field | unix_timestamps rfc_3339 epoch_millis dd/mm/yyyy mm/dd/yyyy
date format | date timestamp field | yyyy-mm-dd iso-8601 rfc_2822 unix_epoch
delivery promise | delivery message | at-least-once at_least_once exactly_once exactly-once
delivery promise | delivery message | at-most-once at_most_once
strategy | deploy release | blue-green canary~deploy rolling_update pod_by_pod blue/green big-bang
branching | branch workflow | trunk-based gitflow git_flow github_flow trunk-based_development
commits | commit message | conventional_commits gitmoji
versions | version release | semver calver semantic_versioning calendar_versioning
separator | separator column | semicolon comma~csv tab~csv pipe~csv semicolons~csv commas~csv
separator | separator column | point-virgule virgule points-virgules tabulation virgules
separator | separator column | tab-separated comma-separated pipe-separated semicolon-separated
rounding | round rounding | half_up half_even half-up half-even banker's_rounding bankers_rounding
rounding | round rounding | half_to_even truncated~round half_down
paging | page paging | cursor~list cursor~pag offset~pag keyset cursor-based offset-based
rtos | firmware rtos | freertos zephyr threadx nuttx vxworks
bus of devices | bus device interface | i2c spi~bus uart can~bus modbus profinet
radio | radio wireless | zigbee lorawan bluetooth ble z-wave thread~radio nb-iot
health data | message interface | hl7 fhir hl7_v2 dicom
engine | game engine | unity unreal godot
texture | texture | bc7 astc etc2 dxt5
version control | repository source control | perforce git~perforce subversion svn mercurial
shell | shell script | bash~shell zsh fish~shell powershell
editor | editor | vs_code intellij neovim vim~editor
language of words | language written message | english french german spanish italian anglais
language of words | language written message | français allemand espagnol italien dutch
python env | environment python | virtualenv venv pyenv asdf~python
node versions | node version | nvm fnm volta asdf~node
design | design mockup | figma sketch~design adobe_xd penpot
tunnel | vpn access | wireguard openvpn tailscale bastion~access ipsec
virtual machine | vm machine | virtualbox vmware proxmox hyper-v
file system | file system disk | zfs btrfs ext4 xfs ntfs
backup tool | backup tool | restic borg velero barman pgbackrest duplicity wal-g pg_dump~backup
erp | erp accounting | sap~erp odoo netsuite dynamics~erp
crm | crm | salesforce hubspot pipedrive zoho
cms | cms content | wordpress drupal contentful strapi sanity~content ghost~content directus
shop | shop | shopify magento woocommerce prestashop medusa~shop
"""
# Other ways to write a name.
JOINED: Final = {
    **dict.fromkeys(("frankfurt", "francfort"), "eu-central-1"),
    **dict.fromkeys(("london", "londres"), "eu-west-2"),
    "dublin": "eu-west-1",
    "paris": "eu-west-3",
    "stockholm": "eu-north-1",
    "warning": "warn",
    "github actions": "github-actions",
    "gitlab ci": "gitlab-ci",
    "secrets manager": "secrets-manager",
    "server-sent events": "server-sent-events",
    "key vault": "key-vault",
    "react native": "react-native",
    "network byte order": "big-endian",
    "latin1": "latin-1",
    "utf8": "utf-8",
    "iso-8859-1": "latin-1",
    "iso 8859-1": "latin-1",
    "postgres": "postgresql",
    "mongo": "mongodb",
    "sql server": "mssql",
    "local time": "local-time",
    "heure locale": "local-time",
    "heure de paris": "europe/paris",
    "merge commit": "merge-commit",
    "merge commits": "merge-commit",
    "squash-merged": "squash",
    "squashed": "squash",
    "squashing": "squash",
    "websockets": "websocket",
    "webhooks": "webhook",
    "polls": "polling",
    "day.js": "dayjs",
    "apache 2.0": "apache-2.0",
    "new relic": "newrelic",
    "argo cd": "argocd",
    "flux cd": "fluxcd",
    "open telemetry": "opentelemetry",
    "semicolons": "semicolon",
    "commas": "comma",
    "pipes": "pipe",
    "point-virgule": "semicolon",
    "points-virgules": "semicolon",
    "virgule": "comma",
    "virgules": "comma",
    "comma-separated": "comma",
    "semicolon-separated": "semicolon",
    "tab-separated": "tab",
    "pipe-separated": "pipe",
    "tabulation": "tab",
    "iso-8601": "iso 8601",
    "iso8601": "iso 8601",
    "epoch ms": "epoch milliseconds",
    "epoch millis": "epoch milliseconds",
    "unix timestamps": "unix timestamp",
    "ulids": "ulid",
    "uuids": "uuid",
    "uuid v4": "uuidv4",
    "uuid v7": "uuidv7",
    "entra id": "entra",
    "azure ad": "entra",
    "exactly-once": "exactly once",
    "at-least-once": "at least once",
    "at-most-once": "at most once",
    "half-up": "half up",
    "half to even": "half even",
    "half-even": "half even",
    "anglais": "english",
    "français": "french",
    "allemand": "german",
    "espagnol": "spanish",
    "italien": "italian",
    "aws secrets manager": "secrets-manager",
    "gplv3": "gpl-3.0",
    "sha256": "sha-256",
    "sha1": "sha-1",
    "sha512": "sha-512",
    "git flow": "gitflow",
    "trunk-based development": "trunk-based",
    "semantic versioning": "semver",
    "calendar versioning": "calver",
    "amazon ses": "ses",
    "firebase cloud messaging": "fcm",
    "auto-increment": "autoincrement",
    "bigserial": "autoincrement",
    "bigint identity": "autoincrement",
    "identity column": "autoincrement",
    "bash script": "bash",
    "optimistic locking": "optimistic",
    "pessimistic locking": "pessimistic",
    "google pub/sub": "pub/sub",
    "azure service bus": "service bus",
    "camel case": "camelcase",
    "openid connect": "oidc",
    "express.js": "express",
    "vue.js": "vue",
    "amazon s3": "s3",
    "route 53": "route53",
    "plain rest": "rest",
    "plain json over http": "rest",
    "json over http/1": "rest",
    "json over http": "rest",
}
# Words for all names of some kinds: "there is no service mesh".
CLASSES: Final = {
    "service mesh": "mesh",
    "mesh": "mesh",
    "broker": "broker",
    "message broker": "broker",
    "message queue": "broker",
    "orm": "javascript_orm python_orm java_orm php_orm go_orm",
    "linter": "web_lint python_lint go_lint ruby_lint",
    "formatter": "web_format python_format jvm_format php_format",
    "feature flag": "flags",
    "feature flags": "flags",
    "cdn": "cdn",
    "search engine": "search",
    "bundler": "bundler",
    "orchestrator": "scheduler workflows",
    "scheduler": "scheduler",
    "vpn": "tunnel",
    "ci server": "pipelines",
    "monorepo tool": "monorepo",
    "state library": "state",
    "migration tool": "migrations",
    "maillage": "mesh",
    "moteur de recherche": "search",
    "courtier": "broker",
}
