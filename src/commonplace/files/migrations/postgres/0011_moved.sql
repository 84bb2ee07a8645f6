-- Versions of files that `commonplace migrate --from` stored here, or found here already. What came once does not come again, whatever
-- was done with it later. The tenant is that of the folder, also after `tenants move`. deleted_at is in microseconds, 0 for a file that was live. origin names the
-- data folder.
CREATE TABLE mcp_file_moved (
    apikey_hash   CHAR(64)      NOT NULL,
    project       VARCHAR(128)  COLLATE "C" NOT NULL,
    path          VARCHAR(1024) COLLATE "C" NOT NULL,
    content_hash  CHAR(64)      NOT NULL,
    deleted_at    BIGINT        NOT NULL,
    origin        TEXT          COLLATE "C" NOT NULL,
    PRIMARY KEY (apikey_hash, project, path, content_hash, deleted_at)
);
