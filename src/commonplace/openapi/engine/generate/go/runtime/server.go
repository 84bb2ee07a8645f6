package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// HandlerOption configures the handler that NewHandler returns.
type HandlerOption func(*handler)

// Credentials are what a request presents for one security scheme.
type Credentials struct {
	Scheme   string
	Scopes   []string
	Token    string
	Username string
	Password string
}

// Authenticator decides whether credentials are good. The context it returns is given to the operation.
type Authenticator func(ctx context.Context, credentials []Credentials) (context.Context, error)

// ErrorWriter answers a request that failed.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, err error)

// Middleware wraps the handling of every operation.
type Middleware func(operationID string, next http.Handler) http.Handler

// WithAuthenticator sets who judges credentials. Without one they only have to be present where an operation needs them.
func WithAuthenticator(authenticate Authenticator) HandlerOption {
	return func(h *handler) { h.authenticate = authenticate }
}

// WithErrorWriter sets how failures are answered.
func WithErrorWriter(write ErrorWriter) HandlerOption {
	return func(h *handler) { h.fail = write }
}

// WithMiddleware adds a wrapper around every operation; the first one added is the outermost.
func WithMiddleware(wrap Middleware) HandlerOption {
	return func(h *handler) { h.middleware = append(h.middleware, wrap) }
}

// WithBasePath makes the handler serve below a path such as /v1.
func WithBasePath(path string) HandlerOption {
	return func(h *handler) { h.basePath = strings.TrimRight(path, "/") }
}

// WithBodyLimit sets how many bytes of a request body are read at most. The default is 32 MiB.
func WithBodyLimit(bytes int64) HandlerOption {
	return func(h *handler) { h.limit = bytes }
}

// RequestError is a request that cannot be served as it stands.
type RequestError struct {
	StatusCode int
	Message    string
	Problems   []Problem
}

// Error returns the message with the first problem.
func (e *RequestError) Error() string {
	if len(e.Problems) == 0 {
		return e.Message
	}
	return e.Message + ": " + e.Problems[0].Path + " " + e.Problems[0].Message
}

// ErrNotImplemented is what UnimplementedServer returns.
var ErrNotImplemented = &RequestError{StatusCode: http.StatusNotImplemented, Message: "not implemented"}

type credentialsKey struct{}

// CredentialsFrom returns the credentials with which the current operation was called.
func CredentialsFrom(ctx context.Context) []Credentials {
	found, _ := ctx.Value(credentialsKey{}).([]Credentials)
	return found
}

type route struct {
	op    *operation
	serve func(ctx context.Context, read func(requestValue) error) (responseValue, error)
}

type handler struct {
	root         *node
	basePath     string
	authenticate Authenticator
	fail         ErrorWriter
	middleware   []Middleware
	limit        int64
}

// node is a place in the tree of path segments.
type node struct {
	literal map[string]*node
	pattern []*segment
	routes  map[string][]route
}

// segment is a path segment with parameters: literals and names in turn.
type segment struct {
	text  string
	parts []string
	next  *node
}

func newHandler(routes []route, options []HandlerOption) *handler {
	h := &handler{root: &node{}, fail: writeError, limit: 32 << 20}
	for _, option := range options {
		option(h)
	}
	for _, one := range routes {
		h.add(one)
	}
	return h
}

func (h *handler) add(r route) {
	at := h.root
	for _, text := range strings.Split(strings.TrimPrefix(r.op.path, "/"), "/") {
		at = at.child(text)
	}
	if at.routes == nil {
		at.routes = map[string][]route{}
	}
	at.routes[r.op.method] = append(at.routes[r.op.method], r)
}

// choose returns the route whose own query has the most pairs that the request carries, and the first of several.
func choose(routes []route, query url.Values) (route, bool) {
	best, most := route{}, -1
	for _, one := range routes {
		wanted, err := url.ParseQuery(one.op.query)
		if err != nil {
			continue
		}
		carried := true
		for name, values := range wanted {
			for _, value := range values {
				carried = carried && slices.Contains(query[name], value)
			}
		}
		if carried && len(wanted) > most {
			best, most = one, len(wanted)
		}
	}
	return best, most >= 0
}

func (n *node) child(text string) *node {
	if !strings.Contains(text, "{") {
		if n.literal == nil {
			n.literal = map[string]*node{}
		}
		if n.literal[text] == nil {
			n.literal[text] = &node{}
		}
		return n.literal[text]
	}
	for _, s := range n.pattern {
		if s.text == text {
			return s.next
		}
	}
	s := &segment{text: text, next: &node{}}
	rest := text
	for {
		before, after, found := strings.Cut(rest, "{")
		s.parts = append(s.parts, before)
		if !found {
			break
		}
		name, tail, _ := strings.Cut(after, "}")
		s.parts = append(s.parts, name)
		rest = tail
	}
	n.pattern = append(n.pattern, s)
	return s.next
}

// match finds the parameters of a segment: each takes the shortest text up to the next literal, the last one the rest.
func (s *segment) match(text string, values map[string]string) bool {
	rest, ok := strings.CutPrefix(text, s.parts[0])
	if !ok {
		return false
	}
	for i := 1; i+1 < len(s.parts); i += 2 {
		name, literal := s.parts[i], s.parts[i+1]
		if i+2 == len(s.parts) {
			value, ok := strings.CutSuffix(rest, literal)
			if !ok {
				return false
			}
			values[name] = value
			return true
		}
		index := strings.Index(rest, literal)
		if literal == "" {
			index = min(1, len(rest))
		}
		if index < 0 {
			return false
		}
		values[name] = rest[:index]
		rest = rest[index+len(literal):]
	}
	return true
}

// find walks the tree: literals win over patterns, and a dead end is walked back.
func (n *node) find(segments []string, values map[string]string) *node {
	if len(segments) == 0 {
		if n.routes == nil {
			return nil
		}
		return n
	}
	text := segments[0]
	plain, err := url.PathUnescape(text)
	if err != nil {
		plain = text
	}
	if next := n.literal[plain]; next != nil {
		if found := next.find(segments[1:], values); found != nil {
			return found
		}
	}
	for _, s := range n.pattern {
		mine := map[string]string{}
		if s.match(text, mine) {
			if found := s.next.find(segments[1:], values); found != nil {
				for name, value := range mine {
					values[name] = value
				}
				return found
			}
		}
	}
	return nil
}

// ServeHTTP finds the operation of a request, checks and reads the request, and writes the operation's response.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	rest, ok := strings.CutPrefix(path, h.basePath)
	if !ok {
		h.fail(w, r, &RequestError{StatusCode: http.StatusNotFound, Message: "no such path"})
		return
	}
	values := map[string]string{}
	place := h.root.find(strings.Split(strings.TrimPrefix(rest, "/"), "/"), values)
	if place == nil {
		h.fail(w, r, &RequestError{StatusCode: http.StatusNotFound, Message: "no such path"})
		return
	}
	routes, ok := place.routes[r.Method]
	if !ok {
		for method := range place.routes {
			w.Header().Add("Allow", method)
		}
		h.fail(w, r, &RequestError{StatusCode: http.StatusMethodNotAllowed, Message: "no such method on this path"})
		return
	}
	found, ok := choose(routes, r.URL.Query())
	if !ok {
		h.fail(w, r, &RequestError{StatusCode: http.StatusNotFound, Message: "no such path with this query"})
		return
	}
	var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, found, values) })
	for i := len(h.middleware) - 1; i >= 0; i-- {
		next = h.middleware[i](found.op.id, next)
	}
	next.ServeHTTP(w, r)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, found route, segments map[string]string) {
	ctx, err := h.authorize(r, found.op)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	read := func(request requestValue) error {
		if err := readParameters(r, found.op, segments, request); err != nil {
			return err
		}
		return h.readBody(w, r, found.op, request)
	}
	response, err := found.serve(ctx, read)
	if err == nil && isNil(response) {
		err = errors.New("the operation returned no response")
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if err := writeResponse(w, found.op, response); err != nil {
		h.fail(w, r, err)
	}
}

func (h *handler) authorize(r *http.Request, op *operation) (context.Context, error) {
	ctx := r.Context()
	if len(op.security) == 0 {
		return ctx, nil
	}
	refused := error(&RequestError{StatusCode: http.StatusUnauthorized, Message: "credentials are missing"})
	for _, requirement := range op.security {
		credentials := make([]Credentials, 0, len(requirement))
		for _, use := range requirement {
			if one, ok := presented(r, securitySchemes[use.scheme]); ok {
				one.Scheme, one.Scopes = use.scheme, use.scopes
				credentials = append(credentials, one)
			}
		}
		if len(credentials) < len(requirement) {
			continue
		}
		with := context.WithValue(ctx, credentialsKey{}, credentials)
		if h.authenticate == nil || len(requirement) == 0 {
			return with, nil
		}
		accepted, err := h.authenticate(with, credentials)
		if err == nil {
			return accepted, nil
		}
		var known *RequestError
		if errors.As(err, &known) {
			refused = known
		} else {
			refused = &RequestError{StatusCode: http.StatusUnauthorized, Message: "credentials are not valid"}
		}
	}
	return ctx, refused
}

func presented(r *http.Request, scheme securityScheme) (Credentials, bool) {
	switch scheme.kind {
	case "apiKey":
		switch scheme.in {
		case "query":
			return Credentials{Token: r.URL.Query().Get(scheme.name)}, r.URL.Query().Has(scheme.name)
		case "cookie":
			cookie, err := r.Cookie(scheme.name)
			if err != nil {
				return Credentials{}, false
			}
			value, err := url.QueryUnescape(cookie.Value)
			return Credentials{Token: value}, err == nil
		}
		token := r.Header.Get(scheme.name)
		return Credentials{Token: token}, token != ""
	case "http":
		if strings.EqualFold(scheme.scheme, "basic") {
			username, password, ok := r.BasicAuth()
			return Credentials{Username: username, Password: password}, ok
		}
		return authorization(r, scheme.scheme)
	case "oauth2", "openIdConnect":
		return authorization(r, "bearer")
	case "mutualTLS":
		return Credentials{}, r.TLS != nil && len(r.TLS.PeerCertificates) > 0
	}
	return Credentials{}, false
}

func authorization(r *http.Request, scheme string) (Credentials, bool) {
	name, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return Credentials{Token: strings.TrimSpace(token)}, ok && strings.EqualFold(name, scheme)
}

func badRequest(format string, args ...any) *RequestError {
	return &RequestError{StatusCode: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

func readParameters(r *http.Request, op *operation, segments map[string]string, request requestValue) error {
	pairs := parsePairs(r.URL.RawQuery)
	taken := map[string]bool{}
	for i := range op.parameters {
		if op.parameters[i].in == "query" {
			taken[op.parameters[i].name] = true
		}
	}
	targets := request.parameters()
	for i := range op.parameters {
		p := &op.parameters[i]
		schema := operationSchema(p.schema)
		tree, there, err := readParameter(r, p, pairs, taken, segments, schema)
		if err != nil {
			return badRequest("parameter %s: %v", p.name, err)
		}
		if !there {
			if p.required {
				return badRequest("parameter %s is required", p.name)
			}
			continue
		}
		if problems := checkValue(tree, schema, true); len(problems) > 0 {
			return &RequestError{StatusCode: http.StatusBadRequest, Message: "parameter " + p.name, Problems: problems}
		}
		if err := fromTree(tree, targets[i]); err != nil {
			return badRequest("parameter %s: %v", p.name, err)
		}
	}
	return nil
}

func readParameter(r *http.Request, p *parameter, pairs []pair, taken map[string]bool, segments map[string]string, schema any) (any, bool, error) {
	var text string
	switch p.in {
	case "path":
		tree, err := parsePath(p, segments[p.name], schema)
		return tree, true, err
	case "query":
		return parseQuery(p, pairs, taken, schema)
	case "querystring":
		tree, err := decodeForm([]byte(r.URL.RawQuery), &body{schema: p.schema})
		return tree, r.URL.RawQuery != "", err
	case "header":
		values := r.Header.Values(p.name)
		if len(values) == 0 {
			return nil, false, nil
		}
		text = strings.Join(values, ",")
		if !p.json {
			unescape := func(part string) (string, error) { return strings.TrimSpace(part), nil }
			tree, err := parseSimple(text, ",", p.explode, schema, unescape)
			return tree, true, err
		}
	case "cookie":
		cookie, err := r.Cookie(p.name)
		if err != nil {
			return nil, false, nil
		}
		text = cookie.Value
		if !p.json {
			tree, err := parseSimple(text, ",", p.explode, schema, url.QueryUnescape)
			return tree, true, err
		}
		if text, err = url.QueryUnescape(text); err != nil {
			return nil, false, err
		}
	}
	tree, err := decodeTree([]byte(text))
	return tree, true, err
}

// fromTree gives a decoded value its generated type.
func fromTree(tree, target any) error {
	data, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, target)
}

func (h *handler) readBody(w http.ResponseWriter, r *http.Request, op *operation, request requestValue) error {
	if len(op.bodies) == 0 {
		return nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.limit))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return &RequestError{StatusCode: http.StatusRequestEntityTooLarge, Message: "the body is too large"}
		}
		return badRequest("body: %v", err)
	}
	contentType := r.Header.Get("Content-Type")
	if len(data) == 0 && contentType == "" {
		if op.needsBody {
			return badRequest("a body is required")
		}
		return nil
	}
	index := chooseBody(op, contentType)
	if index < 0 {
		return &RequestError{StatusCode: http.StatusUnsupportedMediaType, Message: "content type " + contentType + " is not supported"}
	}
	b := &op.bodies[index]
	target := request.bodies()[index]
	if b.kind == "bytes" {
		if raw, ok := target.(*[]byte); ok {
			*raw = data
		}
		return nil
	}
	schema := operationSchema(b.schema)
	var tree any
	switch b.kind {
	case "json":
		tree, err = decodeTree(data)
	case "form":
		tree, err = decodeForm(data, b)
	case "multipart":
		tree, err = decodeMultipart(data, contentType, b)
	default:
		tree = coerce(string(data), schema)
	}
	if err != nil {
		return badRequest("body: %v", err)
	}
	if problems := checkValue(tree, schema, true); len(problems) > 0 {
		return &RequestError{StatusCode: http.StatusBadRequest, Message: "body", Problems: problems}
	}
	if b.kind != "json" {
		err = fromTree(tree, target)
	} else {
		err = json.Unmarshal(data, target)
	}
	if err != nil {
		return badRequest("body: %v", err)
	}
	return nil
}

func chooseBody(op *operation, contentType string) int {
	if contentType == "" && len(op.bodies) > 0 {
		return 0
	}
	for i := range op.bodies {
		if sameType(contentType, op.bodies[i].types) {
			return i
		}
	}
	for i := range op.bodies {
		if op.bodies[i].kind == "json" && isJSONType(contentType) {
			return i
		}
	}
	return -1
}

// writeResponse writes the content that is set, or the raw body.
func writeResponse(w http.ResponseWriter, op *operation, response responseValue) error {
	info := response.info()
	var data []byte
	var contentType string
	status := info.StatusCode
	for _, field := range response.fields() {
		if field.value == nil || isNil(dereference(field.value)) || !fitsStatus(field.status, info.StatusCode) {
			continue
		}
		if field.kind == "text" {
			if text, ok := dereference(field.value).(*string); ok {
				data = []byte(*text)
			}
			contentType = concrete(field.types, "text/plain") + "; charset=utf-8"
		} else {
			encoded, err := json.Marshal(field.value)
			if err != nil {
				return err
			}
			data = encoded
			contentType = concrete(field.types, "application/json")
		}
		if status == 0 {
			status = statusOf(field.status)
		}
		break
	}
	if data == nil && info.Body != nil {
		data = info.Body
		contentType = rawType(response, info.StatusCode)
	}
	if status == 0 {
		status = op.success
	}
	for name, values := range info.Header {
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
	if contentType != "" && w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	if len(data) > 0 {
		_, _ = w.Write(data) // the client may be gone
	}
	return nil
}

func rawType(response responseValue, status int) string {
	for _, field := range response.fields() {
		if field.kind == "bytes" && fitsStatus(field.status, status) {
			return concrete(field.types, "application/octet-stream")
		}
	}
	return "application/octet-stream"
}

func fitsStatus(status string, code int) bool {
	if code == 0 || status == "default" {
		return true
	}
	text := strconv.Itoa(code)
	return status == text || status == text[:1]+"XX"
}

func statusOf(status string) int {
	if code, err := strconv.Atoi(status); err == nil {
		return code
	}
	if strings.HasSuffix(status, "XX") {
		return int(status[0]-'0') * 100
	}
	return http.StatusInternalServerError
}

// writeError answers with the status of a RequestError, or 500, and a JSON body.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	answer := struct {
		Error    string    `json:"error"`
		Problems []Problem `json:"problems,omitempty"`
	}{Error: http.StatusText(http.StatusInternalServerError)}
	status := http.StatusInternalServerError
	var known *RequestError
	if errors.As(err, &known) {
		status, answer.Error, answer.Problems = known.StatusCode, known.Message, known.Problems
	}
	data, encodeErr := json.Marshal(answer)
	if encodeErr != nil {
		data = []byte(`{"error":"internal"}`)
	}
	w.Header().Set("Content-Type", mime.FormatMediaType("application/json", map[string]string{"charset": "utf-8"}))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
