-- name: add_secret
INSERT INTO server_secret (name, secret) VALUES (:name, :secret) ON CONFLICT (name) DO NOTHING

-- name: read_secret
SELECT secret FROM server_secret WHERE name = :name
