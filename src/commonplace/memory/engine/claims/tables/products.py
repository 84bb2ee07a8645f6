"""Products, services and libraries that do the same work, beside those of `alternatives`."""

from __future__ import annotations

from typing import Final

# Rows as in `alternatives`.
PRODUCTS: Final = """
infrastructure state | state remote backend lock | s3~terraform terraform_cloud gcs~terraform
infrastructure state | state remote backend lock | consul~terraform spacelift~terraform
infrastructure state | state remote backend lock | hcp_terraform
infrastructure state | state remote backend lock | azurerm~terraform gitlab~terraform
errors | error exception crash report track | honeybadger appsignal elmah datadog~error
errors | error exception crash report track | new_relic~error application_insights datadog_rum
log shipping | log ship collector agent forward | fluentd fluent-bit fluent_bit filebeat logstash
log shipping | log ship collector agent forward | promtail vector~log rsyslog syslog-ng
storage class | class storage tier archive | standard-ia glacier intelligent-tiering s3_standard
storage class | class storage tier archive | glacier_deep_archive deep_archive s3_standard-ia
storage class | class storage tier archive | coldline nearline~class one_zone-ia
picture service | image picture resize thumbnail | thumbor imgproxy cloudinary imgix imagemagick
picture service | image picture resize thumbnail | libvips sharp~image pillow~image imagekit
bank format | statement bank format file payment | camt.053 mt940 ofx cfonb bai2 qif camt.054
uptime | uptime probe monitoring | pingdom uptimerobot uptime_kuma statuscake checkly site24x7
status page | status page | statuspage instatus cachet better_stack statuspal atlassian_statuspage
certificates | certificate tls issue | letsencrypt let_s_encrypt digicert sectigo globalsign acm
certificates | certificate tls issue | zerossl internal_ca~certif buypass
discovery | discovery service | eureka zookeeper etcd~discover consul~discover
policies | policy admission | opa~polic kyverno gatekeeper~polic open_policy_agent
container tests | test container structure | testcontainers~database docker_compose~tests
load balancer | balancer load | alb nlb haproxy~balanc f5 metallb elb
firewall | waf firewall | modsecurity cloudflare~waf aws_waf imperva
gateway | gateway api | apigee tyk krakend kong~gateway aws_api_gateway
hooks | hook commit git | husky lefthook pre-commit~hook overcommit
release tool | release changelog version tool | semantic-release changesets release-please
release tool | release changelog version tool | goreleaser
release tool | release changelog version tool | standard-version git-cliff jreleaser
dependency updates | dependency update bump bot | dependabot renovate snyk~updates
code quality | quality code analysis static | sonarqube sonarcloud codeclimate codacy code_climate
coverage | coverage report | codecov coveralls
scanner | scan vulnerability security image | trivy grype clair snyk anchore veracode checkmarx
scanner | scan vulnerability security image | semgrep codeql
sbom | sbom bill | cyclonedx spdx
api pages | api documentation reference page | swagger_ui redoc stoplight scalar~api rapidoc
api client | api client request collection | postman insomnia bruno~api hoppscotch
components | component ui story | storybook ladle~stor histoire
ui kit | ui kit component design library | material_ui mui ant_design chakra_ui shadcn mantine
ui kit | ui kit component design library | vuetify quasar primevue angular_material fluent_ui
icons | icon | font_awesome material_icons lucide heroicons feather~icon phosphor~icon
icons | icon | bootstrap_icons
charts of data | chart graph plot | chart.js echarts highcharts recharts d3 apexcharts nivo plotly
charts of data | chart graph plot | matplotlib seaborn~plot amcharts vega-lite bokeh
text editor | editor rich text | tinymce ckeditor quill~editor tiptap prosemirror lexical~editor
text editor | editor rich text | slate~editor draft.js
forms | form | formik react_hook_form final_form react-hook-form
js http | http client request | axios ky~http fetch_api superagent got~http
queries | data fetch query | react_query tanstack_query swr apollo~graphql urql relay~graphql
i18n | translation i18n internationalisation | i18next react-intl formatjs lingui vue-i18n
i18n | translation i18n internationalisation | gettext fluent~translat
translation | translation translate localisation | crowdin lokalise weblate phrase~translat
translation | translation translate localisation | transifex
translation | translation translate localisation | poeditor smartling deepl google_translate pontoon
visual tests | visual test screenshot | chromatic percy applitools backstopjs
font | font typeface typography text body | inter~font roboto source_sans open_sans lato montserrat
font | font typeface typography text body | helvetica arial georgia~font times_new_roman poppins
font | font typeface typography text body | source_sans_pro noto_sans ibm_plex fira_code
font | font typeface typography text body | jetbrains_mono~font marianne~police nunito ubuntu~font
diagrams | diagram | mermaid plantuml draw.io lucidchart graphviz d2~diagram structurizr visio
whiteboard | whiteboard workshop board | miro mural~whiteboard figjam excalidraw klaxoon
video calls | call meeting video conference | zoom~call zoom~meet zoom~visio google_meet webex jitsi
video calls | call meeting video conference | teams~call teams~meet whereby meet~call teams~visio
video calls | call meeting video conference | microsoft_teams~meet livestorm zoom~video teams~video
signing service | sign contract signature electronic | docusign adobe_sign yousign dropbox_sign
signing service | sign contract signature electronic | hellosign pandadoc universign
password manager | password manager vault share | 1password bitwarden lastpass keepass dashlane
password manager | password manager vault share | keepassxc nordpass keeper~password
device management | device laptop management mdm | jamf intune kandji mosyle
people system | hr payroll leave absence | personio workday bamboohr lucca payfit factorial~leave
people system | hr payroll leave absence | rippling gusto silae
expenses | expense receipt claim | expensify spendesk pleo concur qonto n2f
survey | survey form feedback questionnaire | typeform google_forms surveymonkey microsoft_forms
survey | survey form feedback questionnaire | tally~form limesurvey
live chat | chat live widget | intercom~chat crisp~chat tidio drift~chat zendesk_chat livechat
captcha | captcha bot | recaptcha hcaptcha turnstile friendly_captcha
consent | consent cookie banner | onetrust cookiebot didomi axeptio tarteaucitron usercentrics
identity check | identity kyc verification document | onfido veriff sumsub jumio idnow
tax | tax vat | avalara taxjar stripe_tax vertex~tax
subscriptions | subscription billing recurring | chargebee recurly stripe_billing zuora paddle
rates | rate exchange currency | ecb openexchangerates fixer.io xe.com open_exchange_rates
rates | rate exchange currency | european_central_bank
carrier | carrier parcel ship delivery | dhl ups fedex chronopost colissimo dpd gls la_poste
carrier | carrier parcel ship delivery | royal_mail usps mondial_relay postnl hermes~parcel
accounting | accounting bookkeeping | sage~account xero quickbooks datev pennylane cegid
accounting | accounting bookkeeping | sage~compta quadratus exact_online
ocr | ocr scan text recognise | tesseract textract abbyy google_vision document_ai mindee
address | address autocomplete geocode | google_places loqate nominatim photon~geocod pelias
language model | model llm provider assistant | openai anthropic mistral gemini~model bedrock
language model | model llm provider assistant | claude~model gpt-4o gpt-4 llama~model azure_openai
coding assistant | assistant coding | github_copilot copilot~code cursor~code claude_code codeium
embedding model | embedding model | text-embedding-3-small text-embedding-ada-002 all-minilm-l6-v2
embedding model | embedding model | bge-m3 e5-large multilingual-e5
machine learning | model train training framework | pytorch tensorflow jax keras onnx~training
gradient boosting | model train boost | xgboost lightgbm catboost
experiments | experiment track run | mlflow wandb neptune~experiment weights_&_biases
experiments | experiment track run | comet~experiment
inference | model serve inference | triton torchserve vllm bentoml kserve sagemaker seldon tgi~infer
data frames | dataframe frame data | pandas polars dask vaex
notebooks | notebook | jupyter zeppelin marimo jupyterlab deepnote hex~notebook
data versions | data version dataset | dvc lakefs git_lfs pachyderm
transformation | transformation model sql | dbt sqlmesh dataform
ingestion | ingest ingestion load sync connector | fivetran airbyte stitch~load meltano singer~tap
stream processing | stream processing job | flink spark_streaming kafka_streams beam ksqldb
stream processing | stream processing job | spark_structured_streaming materialize
batch processing | batch processing job | spark~job hadoop mapreduce
change capture | cdc change capture | debezium maxwell~cdc aws_dms
data quality | quality data check | great_expectations soda~quality deequ dbt_tests
data catalogue | catalogue catalog data | datahub amundsen openmetadata atlan collibra
feature store | feature store | feast tecton hopsworks
jdk | jdk java distribution runtime | temurin corretto zulu graalvm oracle_jdk openjdk liberica
collector of garbage | garbage collector gc | g1 zgc shenandoah parallel_gc cms~garbage g1gc
java json | json serialisation library | jackson gson moshi kotlinx.serialization fastjson
injection | injection dependency | dagger hilt koin guice autofac tsyringe inversify
java mapping | mapping mapper | mapstruct modelmapper
android ui | ui screen view | compose~android xml_layouts jetpack_compose~android view_system
ios ui | ui screen view | swiftui uikit storyboards~ios
ios packages | dependency package manager | cocoapods swift_package_manager carthage spm
ios data | database store persistence offline | core_data realm~ios swiftdata grdb realm~offline
android data | database store persistence offline | room~android sqldelight objectbox realm~android
pictures in apps | image load picture | coil~image glide~image picasso~image fresco kingfisher
pictures in apps | image load picture | sdwebimage nuke~image
app network | network http client | retrofit ktor~client alamofire urlsession volley~http okhttp
reactive | reactive async concurrency | rxjava coroutines~kotlin rxswift combine~swift
reactive | reactive async concurrency | reactor~spring
mobile builds | build mobile release | fastlane bitrise codemagic xcode_cloud eas_build
mobile builds | build mobile release | app_center~build
rust async | async runtime | tokio async-std smol~rust
rust web | web framework | actix axum rocket~rust warp~rust actix-web
rust orm | orm query | diesel~rust sea-orm sqlx~rust
go web | web framework router | gin~go echo~go chi~go fiber~go gorilla/mux net/http~router
go log | log logger library | zap~log zerolog logrus slog
go mocks | mock | gomock mockery
python commands | command cli argument | click~cli typer argparse docopt
go commands | command cli flag | cobra urfave/cli kingpin
rust commands | command cli argument | clap structopt
node commands | command cli argument | commander yargs oclif
python sessions | test session environment runner | tox nox
python data | validation schema model class | pydantic attrs~python marshmallow cerberus dataclasses
c packages | dependency package manager | vcpkg conan~c++ hunter~cmake
c tests | test framework | googletest catch2 doctest~c++ gtest boost.test
c compiler | compiler compile | gcc clang msvc icc
.net orm | orm database access | entity_framework dapper~.net nhibernate ef_core
.net log | log logger library | serilog nlog log4net
php packages | framework | symfony laravel~php codeigniter
php server | server php | php-fpm frankenphp roadrunner swoole
elixir web | web framework | phoenix~elixir
web runtime | runtime javascript server | node.js~runtime deno bun~runtime
css processing | css style build | postcss~css less~css lightningcss
typing of api | api client generate schema | openapi-generator orval~api swagger-codegen nswag
mail test | mail test catch local | mailhog mailpit mailcatcher mailtrap
mail host | mail mailbox office suite | google_workspace~mail microsoft_365 exchange~mail fastmail
mail host | mail mailbox office suite | proton_mail zimbra office_365
remote access | remote access support | teamviewer anydesk rdp vnc
domain | domain registrar name | gandi namecheap godaddy cloudflare_registrar route_53_domains
browser supported | browser support | internet_explorer~legacy
scanner of ports | wire | nmap masscan
firmware build | firmware build | platformio esp-idf arduino~firmware yocto buildroot
robotics | robot middleware | ros~robot ros_2 ros2
scene | render 3d engine | three.js babylon.js playcanvas
physics | physics engine | box2d physx bullet~physics havok rapier~physics
game network | multiplayer network | photon~multiplayer mirror~unity netcode~unity
learning platform | learning course platform | moodle canvas~course blackboard 360learning
booking | booking appointment calendar | calendly doctolib cal.com
calendar | calendar | google_calendar outlook~calendar nextcloud~calendar caldav
files of a team | file document share drive | google_drive dropbox~file onedrive nextcloud~file
files of a team | file document share drive | box~file
point of sale | pos till cash register | sumup zettle lightspeed~till square~till
"""
# Other ways to write a name.
PRODUCT_NAMES: Final = {
    "glacier deep archive": "deep archive",
    "s3 standard-ia": "standard-ia",
    "let s encrypt": "letsencrypt",
    "fluent-bit": "fluent bit",
    "gtest": "googletest",
    "mui": "material ui",
    "shadcn/ui": "shadcn",
    "tanstack query": "react query",
    "react-hook-form": "react hook form",
    "spm": "swift package manager",
    "g1gc": "g1",
    "ef core": "entity framework",
    "ros2": "ros 2",
    "office 365": "microsoft 365",
    "european central bank": "ecb",
    "open exchange rates": "openexchangerates",
    "weights & biases": "wandb",
    "microsoft teams": "teams",
    "google meet": "meet",
    "datadog rum": "datadog",
    "code climate": "codeclimate",
    "open policy agent": "opa",
    "atlassian statuspage": "statuspage",
    "source sans pro": "source sans",
    "actix-web": "actix",
    "keepassxc": "keepass",
}
