package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Client calls the API. It is safe for use by several goroutines.
type Client struct {
	baseURL     string
	doer        Doer
	editors     []RequestEditor
	credentials map[string]Credential
	limit       int64
}

// Doer sends HTTP requests; *http.Client is one.
type Doer interface {
	Do(request *http.Request) (*http.Response, error)
}

// RequestEditor changes a request before it is sent.
type RequestEditor func(ctx context.Context, request *http.Request) error

// ClientOption configures a Client.
type ClientOption func(*Client)

// Credential is what a security scheme needs: a token or key, or a user name and password.
// Source, where set, is asked for the token of each request.
type Credential struct {
	Token    string
	Username string
	Password string
	Source   func(ctx context.Context) (string, error)
}

// NewClient returns a client for a base address. Where that is empty, DefaultServerURL is used.
// Operations that the API description gives a server of their own are sent there, unless the base
// address is another than DefaultServerURL: a proxy or a test server then receives all of them.
func NewClient(baseURL string, options ...ClientOption) (*Client, error) {
	c := &Client{baseURL: strings.TrimRight(baseURL, "/"), doer: http.DefaultClient, credentials: map[string]Credential{}, limit: 1 << 30}
	for _, option := range options {
		option(c)
	}
	if _, err := url.Parse(c.baseURL); err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	return c, nil
}

// WithHTTPClient sets what sends the requests.
func WithHTTPClient(doer Doer) ClientOption {
	return func(c *Client) { c.doer = doer }
}

// WithRequestEditor adds a function that changes each request before it is sent.
func WithRequestEditor(editor RequestEditor) ClientOption {
	return func(c *Client) { c.editors = append(c.editors, editor) }
}

// WithUserAgent sets the User-Agent header.
func WithUserAgent(agent string) ClientOption {
	return WithRequestEditor(func(_ context.Context, request *http.Request) error {
		request.Header.Set("User-Agent", agent)
		return nil
	})
}

// WithResponseLimit sets how many bytes of a response are read at most.
func WithResponseLimit(bytes int64) ClientOption {
	return func(c *Client) { c.limit = bytes }
}

// WithCredential sets the credential of a security scheme by its name in the API description.
func WithCredential(scheme string, credential Credential) ClientOption {
	return func(c *Client) { c.credentials[scheme] = credential }
}

// APIError is a response whose status is 400 or above, or one that the API description does not know.
type APIError struct {
	Operation  string
	StatusCode int
	Header     http.Header
	Body       []byte

	// Value is the decoded body, a pointer to its generated type, where the description documents one for this status.
	Value any
}

// Error says which operation failed and how.
func (e *APIError) Error() string {
	text := strings.TrimSpace(string(e.Body))
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	if text != "" {
		text = ": " + text
	}
	return fmt.Sprintf("%s: status %d %s%s", e.Operation, e.StatusCode, http.StatusText(e.StatusCode), text)
}

// ErrorValue returns the decoded body of an error response if it has the given type.
func ErrorValue[T any](err error) (*T, bool) {
	var failure *APIError
	if !errors.As(err, &failure) {
		return nil, false
	}
	value, ok := failure.Value.(*T)
	return value, ok && value != nil
}

func (c *Client) call(ctx context.Context, op *operation, request requestValue, response responseValue) error {
	outgoing, err := c.request(ctx, op, request, response)
	if err != nil {
		return fmt.Errorf("%s: %w", op.id, err)
	}
	incoming, err := c.doer.Do(outgoing)
	if err != nil {
		return fmt.Errorf("%s: %w", op.id, err)
	}
	defer func() { _ = incoming.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(incoming.Body, c.limit+1))
	if err != nil {
		return fmt.Errorf("%s: %w", op.id, err)
	}
	if int64(len(data)) > c.limit {
		return fmt.Errorf("%s: the response is larger than %d bytes", op.id, c.limit)
	}
	info := response.info()
	info.StatusCode, info.Header, info.Body = incoming.StatusCode, incoming.Header, data
	value, known, err := readResponse(response, incoming.Header.Get("Content-Type"))
	if incoming.StatusCode >= 400 || (!known && incoming.StatusCode >= 300) {
		return &APIError{Operation: op.id, StatusCode: incoming.StatusCode, Header: incoming.Header, Body: data, Value: value}
	}
	if err != nil {
		return fmt.Errorf("%s: response: %w", op.id, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, op *operation, request requestValue, response responseValue) (*http.Request, error) {
	base, err := c.server(op)
	if err != nil {
		return nil, err
	}
	path, query, header, err := encodeParameters(op, request)
	if err != nil {
		return nil, err
	}
	content, contentType, err := encodeBody(op, request)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if contentType != "" {
		reader = bytes.NewReader(content)
	}
	target := base + path
	if query = withFixed(op.query, query); len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	outgoing, err := http.NewRequestWithContext(ctx, op.method, target, reader)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		for _, value := range values {
			outgoing.Header.Add(name, value)
		}
	}
	if contentType != "" {
		outgoing.Header.Set("Content-Type", contentType)
	}
	if outgoing.Header.Get("Accept") == "" {
		outgoing.Header.Set("Accept", accepted(response))
	}
	if err := c.authorize(ctx, op, outgoing); err != nil {
		return nil, err
	}
	for _, edit := range c.editors {
		if err := edit(ctx, outgoing); err != nil {
			return nil, err
		}
	}
	return outgoing, nil
}

// server returns the address that an operation is sent to, without a slash at its end.
func (c *Client) server(op *operation) (string, error) {
	base := c.baseURL
	standard := strings.TrimRight(DefaultServerURL, "/")
	if base == "" {
		base = standard
	}
	if op.server == "" {
		return base, nil
	}
	own, err := url.Parse(op.server)
	if err != nil {
		return "", fmt.Errorf("server of the operation: %w", err)
	}
	if own.Host != "" && base != standard {
		return base, nil
	}
	root, err := url.Parse(base + "/")
	if err != nil {
		return "", fmt.Errorf("base URL: %w", err)
	}
	return strings.TrimRight(root.ResolveReference(own).String(), "/"), nil
}

// withFixed puts the pairs of a path's own query before those of the parameters, which win over pairs of the same name.
func withFixed(fixed string, query []string) []string {
	if fixed == "" {
		return query
	}
	var all []string
	for _, pair := range strings.Split(fixed, "&") {
		name, _, _ := strings.Cut(pair, "=")
		given := false
		for _, other := range query {
			otherName, _, _ := strings.Cut(other, "=")
			given = given || otherName == name
		}
		if !given {
			all = append(all, pair)
		}
	}
	return append(all, query...)
}

func accepted(response responseValue) string {
	var types []string
	seen := map[string]bool{}
	for _, field := range response.fields() {
		for _, name := range field.types {
			if !seen[name] {
				seen[name] = true
				types = append(types, name)
			}
		}
	}
	if len(types) == 0 {
		return "*/*"
	}
	return strings.Join(types, ", ")
}

func encodeParameters(op *operation, request requestValue) (path string, query []string, header http.Header, err error) {
	header = http.Header{}
	segments := map[string]string{}
	values := request.parameters()
	for i := range op.parameters {
		p := &op.parameters[i]
		tree, there, err := toTree(values[i])
		if err != nil {
			return "", nil, nil, fmt.Errorf("parameter %s: %w", p.name, err)
		}
		if !there {
			if p.in == "path" {
				return "", nil, nil, fmt.Errorf("parameter %s: a path parameter cannot be absent", p.name)
			}
			continue
		}
		switch p.in {
		case "path":
			segments[p.name] = pathText(p, tree)
		case "query":
			query = append(query, queryPairs(p, tree)...)
		case "querystring":
			data, err := encodeForm(tree, &body{})
			if err != nil {
				return "", nil, nil, fmt.Errorf("parameter %s: %w", p.name, err)
			}
			query = append(query, string(data))
		case "header":
			if p.json {
				tree = scalarText(tree)
			}
			header.Add(p.name, simpleText(tree, p.explode, sameText))
		case "cookie":
			if p.json {
				tree = scalarText(tree)
			}
			cookie := (&http.Cookie{Name: p.name, Value: simpleText(tree, p.explode, url.QueryEscape)}).String()
			if before := header.Get("Cookie"); before != "" {
				cookie = before + "; " + cookie
			}
			header.Set("Cookie", cookie)
		}
	}
	return expandPath(op.path, segments), query, header, nil
}

func expandPath(template string, segments map[string]string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("%7B" + rest)
			return out.String()
		}
		out.WriteString(segments[name])
		template = after
	}
}

func encodeBody(op *operation, request requestValue) (content []byte, contentType string, err error) {
	values := request.bodies()
	for i := range op.bodies {
		b := &op.bodies[i]
		if isNil(values[i]) || isNil(dereference(values[i])) {
			continue
		}
		if b.kind == "bytes" {
			data, _ := dereference(values[i]).([]byte)
			return data, concrete(b.types, "application/octet-stream"), nil
		}
		data, err := json.Marshal(values[i])
		if err != nil {
			return nil, "", err
		}
		if b.kind == "json" {
			return data, concrete(b.types, "application/json"), nil
		}
		tree, err := decodeTree(data)
		if err != nil {
			return nil, "", err
		}
		switch b.kind {
		case "form":
			data, err = encodeForm(tree, b)
			return data, "application/x-www-form-urlencoded", err
		case "multipart":
			return encodeMultipart(tree, b)
		}
		return []byte(scalarText(tree)), concrete(b.types, "text/plain") + "; charset=utf-8", nil
	}
	if op.needsBody {
		return nil, "", errors.New("the request needs a body")
	}
	return nil, "", nil
}

// readResponse decodes the body into the field of its status and content type.
func readResponse(response responseValue, contentType string) (value any, known bool, err error) {
	info := response.info()
	code := strconv.Itoa(info.StatusCode)
	for _, status := range []string{code, code[:1] + "XX", "default"} {
		var found *responseField
		for _, field := range response.fields() {
			if field.status != status {
				continue
			}
			known = true
			if field.value != nil && (found == nil || sameType(contentType, field.types)) && fitsKind(field.kind, contentType) {
				found = &field
			}
		}
		if !known {
			continue
		}
		if found == nil || len(info.Body) == 0 {
			return nil, true, nil
		}
		if found.kind == "text" {
			text := string(info.Body)
			if target, ok := found.value.(**string); ok {
				*target = &text
				return *target, true, nil
			}
			return nil, true, nil
		}
		if err := json.Unmarshal(info.Body, found.value); err != nil {
			return nil, true, err
		}
		return dereference(found.value), true, nil
	}
	return nil, false, nil
}

func fitsKind(kind, contentType string) bool {
	if kind == "json" {
		return contentType == "" || isJSONType(contentType)
	}
	return !isJSONType(contentType)
}

// authorize adds the credentials of the first alternative for which the client has all of them.
func (c *Client) authorize(ctx context.Context, op *operation, request *http.Request) error {
	for _, requirement := range op.security {
		complete := true
		for _, use := range requirement {
			if _, ok := c.credentials[use.scheme]; !ok {
				complete = false
			}
		}
		if !complete {
			continue
		}
		for _, use := range requirement {
			if err := addCredential(ctx, request, securitySchemes[use.scheme], c.credentials[use.scheme]); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

func addCredential(ctx context.Context, request *http.Request, scheme securityScheme, credential Credential) error {
	token := credential.Token
	if credential.Source != nil {
		fresh, err := credential.Source(ctx)
		if err != nil {
			return err
		}
		token = fresh
	}
	switch scheme.kind {
	case "apiKey":
		switch scheme.in {
		case "query":
			query := request.URL.RawQuery
			if query != "" {
				query += "&"
			}
			request.URL.RawQuery = query + url.QueryEscape(scheme.name) + "=" + url.QueryEscape(token)
		case "cookie":
			request.AddCookie(&http.Cookie{Name: scheme.name, Value: url.QueryEscape(token)})
		default:
			request.Header.Set(scheme.name, token)
		}
	case "http":
		switch strings.ToLower(scheme.scheme) {
		case "basic":
			pair := credential.Username + ":" + credential.Password
			request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
		case "bearer":
			request.Header.Set("Authorization", "Bearer "+token)
		default:
			request.Header.Set("Authorization", scheme.scheme+" "+token)
		}
	case "oauth2", "openIdConnect":
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}
