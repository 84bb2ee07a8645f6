"""Methods, formats and measures of which a thing uses one at a time, beside `alternatives`."""

from __future__ import annotations

from typing import Final

# Rows as in `alternatives`.
METHODS: Final = """
compression | compress codec | zstandard lzo lzma gz~compress deflate64 brotli~compress
image | image base container | debian-slim bookworm-slim slim-bookworm scratch~image ubi9 ubi8 ubi
image | image base container | bookworm~image bullseye~image red_hat_ubi slim~image chainguard
signature | sign token algorithm webhook | hmac-sha256 hmac-sha1 hmac-sha512 hmac
token format | token | jwt paseto opaque_token~token opaque_tokens macaroons
line endings | line ending newline | lf~line crlf lf~ending
quotes | quote string | single_quotes double_quotes guillemets_simples guillemets_doubles
semicolons | semicolon | with_semicolons without_semicolons no_semicolons
http version | http protocol | http/1.1 http/2 http/3 quic
transport | transport packet protocol | tcp~udp udp tcp
internet protocol | address network | ipv4-only ipv6-only dual-stack
key exchange | key exchange curve | x25519 p-256 secp256k1 diffie-hellman
consensus | consensus | raft paxos zab
index | index | b-tree gin~index gist~index brin hnsw ivfflat ivf
consistency | consistency read | strong_consistency eventual_consistency eventually_consistent
consistency | consistency read | strongly_consistent linearizable
replication | replication replica | synchronous_replication asynchronous_replication
replication | replication replica | logical_replication physical_replication streaming_replication
balancing | balancing balancer load | round_robin least_connections ip_hash random~balanc
balancing | balancing balancer load | round-robin least-connections consistent_hashing
rate limiting | rate limit algorithm | token_bucket leaky_bucket fixed_window sliding_window
cache strategy | cache strategy | write-through write-behind cache-aside read-through write-back
backoff | retry backoff delay | exponential~retr linear~retr constant~retr fixed_delay~retr
backoff | retry backoff delay | exponential_backoff linear_backoff exponential~backoff
backoff | retry backoff delay | linear~backoff
login flow | flow grant login | authorization_code client_credentials implicit_flow password_grant
login flow | flow grant login | device_flow implicit_grant pkce~grant
second factor | factor second 2fa code | totp~factor sms~factor sms~2fa totp~2fa webauthn yubikey
second factor | factor second 2fa code | yubikeys hardware_keys~factor passkey~factor totp~mfa
second factor | factor second 2fa code | sms~mfa
second factor | factor second 2fa code | authenticator_app passkeys fido2 sms~facteur totp~facteur
permissions | permission role access model | rbac abac acl~permission rebac
tenancy | tenant data schema | schema_per_tenant database_per_tenant row-level_security~tenant
tenancy | tenant data schema | shared_schema~tenant row_level~tenant one_database_per_customer
rendering | render page | server-side_rendering client-side_rendering static_generation ssr
rendering | render page | csr~render
rendering | render page | ssg~page statically_generated server-rendered client-rendered isr~page
estimates | estimate estimation ticket | story_points t-shirt_sizes ideal_days person-days
estimates | estimate estimation ticket | man-days planning_poker no_estimates
process | process team method work | scrum kanban shape_up~cycle extreme_programming waterfall
audio | audio codec sound | opus aac mp3 flac vorbis wav~audio
subtitles | subtitle caption | srt~subtitle webvtt vtt ttml srt~sous-titre srt~caption
streaming | streaming video live | hls dash~video rtmp webrtc mpeg-dash
barcode | barcode label code | code_128 ean-13 qr_code data_matrix pdf417 gs1-128 code_39 qr_codes
printing | printer label print | zpl epl esc/pos postscript pcl
projection | projection coordinate coordinates | wgs84 lambert_93 etrs89 web_mercator epsg:4326
projection | projection coordinate coordinates | epsg:3857 epsg:2154 utm~coordin
geometry format | geometry format layer map | geojson shapefile kml gpx geopackage topojson wkt~geom
grid | grid cell spatial | h3 s2~cell geohash quadkey
temperature | temperature degree | celsius fahrenheit kelvin
length | distance length unit | kilometres miles kilometers inches centimetres metres~distance
length | distance length unit | meters~distance feet~height millimetres~unit millimeters~unit
weight of things | weight mass unit | kilograms pounds~weight grams~weight ounces~weight kilogrammes
pressure | pressure unit | bar~pressure psi hectopascal hpa~pressure kilopascal
first day | week first | monday~first_day sunday~first_day
currency | currency price amount | euros dollars us_dollars pounds_sterling eur usd gbp chf
currency | currency price amount | swiss_francs
currency | currency price amount | francs yen sterling euro~currency dollar~currency cad
paper | paper print page | a4 us_letter letter~paper a5~paper
theme | theme interface | dark_theme light_theme dark_mode~default light_mode~default
diff of schema | schema evolution compatibility | backward_compatible forward_compatible
diff of schema | schema evolution compatibility | full_compatible
order of bytes | order | network_order host_order
id place | tenant id | subdomain~tenant path_prefix~tenant
model of data | data model | star_schema snowflake_schema~star data_vault third_normal_form
history | history dimension | scd_type_2 scd_type_1
window | window stream | tumbling_windows sliding_windows tumbling~window session_windows
majority | majority vote need | simple_majority two_thirds absolute_majority unanimity
majority | majority vote need | qualified_majority majorité_simple majorité_absolue unanimité
key-value store | store database served read | redis dynamodb aerospike etcd~store scylladb
prices | price tax vat | tax_included~price net~price gross~price including_vat excluding_vat
prices | price tax vat | ttc~prix ht~prix toutes_taxes_comprises hors_taxes excluding_tax
prices | price tax vat | including_tax inclusive_of_vat exclusive_of_vat
depreciation | depreciation | straight-line declining-balance
stock method | stock valuation | fifo~stock lifo~stock weighted_average~stock fefo
notation | notation number decimal | decimal_comma decimal_point
contract | contract work employee | freelancers~contract permanent_staff~contract
deploy unit | deploy package unit | docker_image~deploy zip_file~lambda deb_package jar~deploy
deploy unit | deploy package unit | rpm container_image~deploy
plan of days | working remote office | fully_remote hybrid~office on-site~work
desk | desk seat office | hot_desking~desk assigned_desks~desk assigned_seats
"""
METHOD_NAMES: Final = {
    "zstandard": "zstd",
    "gz": "gzip",
    "debian-slim": "debian",
    "bookworm-slim": "debian",
    "slim-bookworm": "debian",
    "bookworm": "debian",
    "bullseye": "debian",
    "red hat ubi": "ubi",
    "ubi8": "ubi",
    "ubi9": "ubi",
    "round-robin": "round robin",
    "least-connections": "least connections",
    "eventually consistent": "eventual consistency",
    "strongly consistent": "strong consistency",
    "linearizable": "strong consistency",
    "ssr": "server-side rendering",
    "server-rendered": "server-side rendering",
    "csr": "client-side rendering",
    "client-rendered": "client-side rendering",
    "ssg": "static generation",
    "statically generated": "static generation",
    "exponential backoff": "exponential",
    "linear backoff": "linear",
    "implicit grant": "implicit flow",
    "yubikeys": "yubikey",
    "passkeys": "passkey",
    "qr codes": "qr code",
    "kilometers": "kilometres",
    "eur": "euros",
    "euro": "euros",
    "usd": "dollars",
    "us dollars": "dollars",
    "dollar": "dollars",
    "gbp": "sterling",
    "pounds sterling": "sterling",
    "swiss francs": "chf",
    "webvtt": "vtt",
    "mpeg-dash": "dash",
    "man-days": "person-days",
    "toutes taxes comprises": "including vat",
    "ttc": "including vat",
    "tax included": "including vat",
    "including tax": "including vat",
    "inclusive of vat": "including vat",
    "gross": "including vat",
    "ht": "excluding vat",
    "hors taxes": "excluding vat",
    "excluding tax": "excluding vat",
    "exclusive of vat": "excluding vat",
    "net": "excluding vat",
    "tumbling windows": "tumbling",
    "epsg:4326": "wgs84",
    "epsg:3857": "web mercator",
    "epsg:2154": "lambert 93",
    "opaque tokens": "opaque token",
}
