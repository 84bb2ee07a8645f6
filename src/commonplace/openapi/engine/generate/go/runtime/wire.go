package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// operation describes one operation of the API to the client and the server.
type operation struct {
	id         string
	method     string
	path       string
	server     string // of this operation, where the description gives it one of its own
	query      string // pairs that the path itself carries after ?
	parameters []parameter
	bodies     []body
	needsBody  bool
	security   [][]schemeUse
	success    int
}

type parameter struct {
	name     string
	in       string
	style    string
	explode  bool
	required bool
	json     bool // content: application/json
	reserved bool
	schema   string
}

type body struct {
	kind     string // json, form, multipart, text or bytes
	types    []string
	schema   string
	encoding map[string]encoding
}

type encoding struct {
	style       string
	explode     bool
	contentType string
}

type schemeUse struct {
	scheme string
	scopes []string
}

type securityScheme struct {
	kind   string
	in     string
	name   string
	scheme string
}

// requestValue is a generated request: pointers to its parameters and bodies, in the order of its operation.
type requestValue interface {
	parameters() []any
	bodies() []any
}

// responseValue is a generated response.
type responseValue interface {
	info() *ResponseInfo
	fields() []responseField
}

type responseField struct {
	status string
	kind   string
	types  []string
	value  any
}

// ResponseInfo is what every response has beside its typed contents.
type ResponseInfo struct {
	// StatusCode is the HTTP status. A server may leave it 0 where the content set says which one is meant.
	StatusCode int

	// Header holds the response headers.
	Header http.Header

	// Body holds the body as bytes. A server sets it for content without a typed field.
	Body []byte
}

func (r *ResponseInfo) info() *ResponseInfo {
	return r
}

func operationSchema(key string) any {
	if key == "" {
		return true
	}
	return schemaFor(key)
}

// toTree turns what a pointer points to into maps, slices and scalars. The second result is false for an absent value.
func toTree(pointer any) (any, bool, error) {
	value := dereference(pointer)
	if isNil(value) {
		return nil, false, nil
	}
	if absent, ok := value.(interface{ IsZero() bool }); ok && absent.IsZero() {
		if _, isTime := value.(interface{ Unix() int64 }); !isTime {
			return nil, false, nil
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, false, err
	}
	tree, err := decodeTree(data)
	return tree, true, err
}

func scalarText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

func sortedNames(members map[string]any) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func escapeQuery(text string, reserved bool) string {
	escaped := url.QueryEscape(text)
	if !reserved {
		return escaped
	}
	for _, char := range ":/?[]@!$'()*,;" {
		escaped = strings.ReplaceAll(escaped, "%"+strings.ToUpper(strconv.FormatInt(int64(char), 16)), string(char))
	}
	return escaped
}

func escapePath(text string) string {
	escaped := strings.ReplaceAll(url.PathEscape(text), "=", "%3D")
	if strings.Trim(escaped, ".") == "" {
		return strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}

// queryPairs writes one value as name=value pairs by style.
func queryPairs(p *parameter, tree any) []string {
	escape := func(text string) string { return escapeQuery(text, p.reserved) }
	name := url.QueryEscape(p.name)
	if p.json {
		data, err := json.Marshal(tree)
		if err != nil {
			return nil
		}
		return []string{name + "=" + escape(string(data))}
	}
	separator := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[p.style]
	if separator == "" {
		separator = ","
	}
	switch v := tree.(type) {
	case []any:
		if p.style == "deepObject" {
			return deepPairs(p.name, v)
		}
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, escape(scalarText(item)))
		}
		if p.explode {
			for i := range parts {
				parts[i] = name + "=" + parts[i]
			}
			return parts
		}
		return []string{name + "=" + strings.Join(parts, separator)}
	case map[string]any:
		if p.style == "deepObject" {
			return deepPairs(p.name, v)
		}
		var parts []string
		for _, member := range sortedNames(v) {
			key, text := url.QueryEscape(member), escape(scalarText(v[member]))
			if p.explode {
				parts = append(parts, key+"="+text)
			} else {
				parts = append(parts, key, text)
			}
		}
		if p.explode {
			return parts
		}
		return []string{name + "=" + strings.Join(parts, separator)}
	}
	return []string{name + "=" + escape(scalarText(tree))}
}

// deepPairs writes nested values as name[member][index]=value.
func deepPairs(prefix string, tree any) []string {
	var pairs []string
	switch v := tree.(type) {
	case []any:
		for i, item := range v {
			pairs = append(pairs, deepPairs(prefix+"["+strconv.Itoa(i)+"]", item)...)
		}
		return pairs
	case map[string]any:
		for _, member := range sortedNames(v) {
			pairs = append(pairs, deepPairs(prefix+"["+member+"]", v[member])...)
		}
		return pairs
	case nil:
		return nil
	}
	return []string{url.QueryEscape(prefix) + "=" + url.QueryEscape(scalarText(tree))}
}

// simpleText writes a value for a path segment or header: items and members separated by commas.
func simpleText(tree any, explode bool, escape func(string) string) string {
	switch v := tree.(type) {
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, escape(scalarText(item)))
		}
		return strings.Join(parts, ",")
	case map[string]any:
		var parts []string
		for _, member := range sortedNames(v) {
			key, text := escape(member), escape(scalarText(v[member]))
			if explode {
				parts = append(parts, key+"="+text)
			} else {
				parts = append(parts, key, text)
			}
		}
		return strings.Join(parts, ",")
	}
	return escape(scalarText(tree))
}

func pathText(p *parameter, tree any) string {
	if p.json {
		data, err := json.Marshal(tree)
		if err != nil {
			return ""
		}
		return escapePath(string(data))
	}
	dots := func(text string) string { return strings.ReplaceAll(escapePath(text), ".", "%2E") }
	switch p.style {
	case "label":
		text := simpleText(tree, p.explode, dots)
		if p.explode {
			text = strings.ReplaceAll(text, ",", ".")
		}
		return "." + text
	case "matrix":
		switch v := tree.(type) {
		case []any:
			if p.explode {
				var out strings.Builder
				for _, item := range v {
					out.WriteString(";" + escapePath(p.name) + "=" + escapePath(scalarText(item)))
				}
				return out.String()
			}
		case map[string]any:
			if p.explode {
				var out strings.Builder
				for _, member := range sortedNames(v) {
					out.WriteString(";" + escapePath(member) + "=" + escapePath(scalarText(v[member])))
				}
				return out.String()
			}
		}
		return ";" + escapePath(p.name) + "=" + simpleText(tree, false, escapePath)
	}
	return simpleText(tree, p.explode, escapePath)
}

func sameText(text string) string {
	return text
}

// coerce gives a text the scalar type that its schema asks for.
func coerce(text string, schema any) any {
	types := schemaTypes(schema)
	if (types["integer"] || types["number"]) && isNumber(text) {
		return json.Number(text)
	}
	if types["boolean"] && (text == "true" || text == "false") {
		return text == "true"
	}
	if types["null"] && !types["string"] && (text == "" || text == "null") {
		return nil
	}
	nested := types["object"] || types["array"] || (len(types) == 0 && strings.ContainsAny(text[:min(1, len(text))], "{["))
	if nested && !types["string"] {
		if tree, err := decodeTree([]byte(text)); err == nil {
			return tree
		}
	}
	return text
}

func isNumber(text string) bool {
	if text == "" || strings.ContainsAny(text, "xXpP_nN ") {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && json.Valid([]byte(text))
}

func isArray(schema any) bool {
	types := schemaTypes(schema)
	return types["array"] && !types["object"] && !types["string"]
}

func isObject(schema any) bool {
	types := schemaTypes(schema)
	return types["object"] && !types["array"] && !types["string"]
}

func coerceList(parts []string, schema any, unescape func(string) (string, error)) (any, error) {
	items := make([]any, 0, len(parts))
	for _, part := range parts {
		text, err := unescape(part)
		if err != nil {
			return nil, err
		}
		items = append(items, coerce(text, itemSchema(schema)))
	}
	return items, nil
}

func coerceMembers(parts []string, schema any, explode bool, unescape func(string) (string, error)) (any, error) {
	members := map[string]any{}
	if !explode {
		if len(parts)%2 != 0 {
			return nil, errors.New("names and values do not pair up")
		}
		joined := make([]string, 0, len(parts)/2)
		for i := 0; i < len(parts); i += 2 {
			joined = append(joined, parts[i]+"="+parts[i+1])
		}
		parts = joined
	}
	for _, part := range parts {
		name, text, _ := strings.Cut(part, "=")
		name, err := unescape(name)
		if err != nil {
			return nil, err
		}
		text, err = unescape(text)
		if err != nil {
			return nil, err
		}
		members[name] = coerce(text, memberSchema(schema, name, 0))
	}
	return members, nil
}

// split is strings.Split, but nothing for an empty text.
func split(text, separator string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, separator)
}

// parseSimple reads what simpleText wrote.
func parseSimple(text, separator string, explode bool, schema any, unescape func(string) (string, error)) (any, error) {
	switch {
	case isArray(schema):
		return coerceList(split(text, separator), schema, unescape)
	case isObject(schema):
		return coerceMembers(split(text, separator), schema, explode, unescape)
	}
	plain, err := unescape(text)
	if err != nil {
		return nil, err
	}
	return coerce(plain, schema), nil
}

func parsePath(p *parameter, raw string, schema any) (any, error) {
	if p.json {
		text, err := url.PathUnescape(raw)
		if err != nil {
			return nil, err
		}
		return decodeTree([]byte(text))
	}
	switch p.style {
	case "label":
		separator := ","
		if p.explode {
			separator = "."
		}
		return parseSimple(strings.TrimPrefix(raw, "."), separator, p.explode, schema, url.PathUnescape)
	case "matrix":
		raw = strings.TrimPrefix(raw, ";")
		if p.explode && isObject(schema) {
			return coerceMembers(split(raw, ";"), schema, true, url.PathUnescape)
		}
		prefix := escapePath(p.name) + "="
		if p.explode && isArray(schema) {
			parts := split(raw, ";")
			for i := range parts {
				parts[i] = strings.TrimPrefix(parts[i], prefix)
			}
			return coerceList(parts, schema, url.PathUnescape)
		}
		return parseSimple(strings.TrimPrefix(raw, prefix), ",", false, schema, url.PathUnescape)
	}
	return parseSimple(raw, ",", p.explode, schema, url.PathUnescape)
}

// pair is one name=value of a query or form, the value still escaped.
type pair struct {
	name string
	raw  string
}

func parsePairs(raw string) []pair {
	var pairs []pair
	for _, part := range strings.Split(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			pairs = append(pairs, pair{plain, value})
		}
	}
	return pairs
}

// parseQuery reads a parameter from the pairs of a query or form. The second result is false where it is absent.
func parseQuery(p *parameter, pairs []pair, taken map[string]bool, schema any) (any, bool, error) {
	if p.style == "deepObject" {
		return parseDeep(p.name, pairs, schema)
	}
	if p.explode && !p.json && isObject(schema) {
		names, open := memberNames(schema)
		members := map[string]any{}
		for _, one := range pairs {
			if names[one.name] || (open && !taken[one.name]) {
				text, err := url.QueryUnescape(one.raw)
				if err != nil {
					return nil, false, err
				}
				members[one.name] = coerce(text, memberSchema(schema, one.name, 0))
			}
		}
		return members, len(members) > 0, nil
	}
	var raws []string
	for _, one := range pairs {
		if one.name == p.name {
			raws = append(raws, one.raw)
		}
	}
	if len(raws) == 0 {
		return nil, false, nil
	}
	if p.json {
		text, err := url.QueryUnescape(raws[0])
		if err != nil {
			return nil, false, err
		}
		tree, err := decodeTree([]byte(text))
		return tree, true, err
	}
	if p.explode {
		types := schemaTypes(schema)
		if isArray(schema) || (types["array"] && len(raws) > 1) {
			tree, err := coerceList(raws, schema, url.QueryUnescape)
			return tree, true, err
		}
	}
	separators := map[string][]string{"spaceDelimited": {"%20", "+"}, "pipeDelimited": {"%7C", "%7c", "|"}}[p.style]
	raw := raws[0]
	for _, separator := range separators {
		raw = strings.ReplaceAll(raw, separator, ",")
	}
	tree, err := parseSimple(raw, ",", p.explode, schema, url.QueryUnescape)
	return tree, true, err
}

// parseDeep reads name[member][index]=value pairs.
func parseDeep(name string, pairs []pair, schema any) (any, bool, error) {
	var root any
	found := false
	for _, one := range pairs {
		if one.name != name && !strings.HasPrefix(one.name, name+"[") {
			continue
		}
		text, err := url.QueryUnescape(one.raw)
		if err != nil {
			return nil, false, err
		}
		found = true
		var keys []string
		for _, part := range strings.Split(one.name[len(name):], "[")[1:] {
			keys = append(keys, strings.TrimSuffix(part, "]"))
		}
		if len(keys) > 50 {
			return nil, false, errors.New("nests too deeply")
		}
		root = plant(root, keys, text)
	}
	return ripen(root, schema), found, nil
}

// plant puts a text at the place that keys name; ripen gives the result its types.
func plant(node any, keys []string, text string) any {
	if len(keys) == 0 {
		if list, ok := node.([]string); ok {
			return append(list, text)
		}
		return []string{text}
	}
	members, ok := node.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	members[keys[0]] = plant(members[keys[0]], keys[1:], text)
	return members
}

func ripen(node, schema any) any {
	switch v := node.(type) {
	case []string:
		if len(v) == 1 && !isArray(schema) {
			return coerce(v[0], schema)
		}
		items := make([]any, 0, len(v))
		for _, text := range v {
			items = append(items, coerce(text, itemSchema(schema)))
		}
		return items
	case map[string]any:
		types := schemaTypes(schema)
		if types["array"] && indexed(v) {
			return ripenList(v, schema)
		}
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = ripen(member, memberSchema(schema, name, 0))
		}
		return members
	}
	return node
}

func ripenList(v map[string]any, schema any) any {
	names := sortedNames(v)
	sort.SliceStable(names, func(i, j int) bool {
		a, _ := strconv.Atoi(names[i])
		b, _ := strconv.Atoi(names[j])
		return a < b
	})
	items := make([]any, 0, len(names))
	for _, name := range names {
		if list, ok := v[name].([]string); ok && name == "" {
			for _, text := range list {
				items = append(items, coerce(text, itemSchema(schema)))
			}
			continue
		}
		items = append(items, ripen(v[name], itemSchema(schema)))
	}
	return items
}

func indexed(members map[string]any) bool {
	for name := range members {
		if _, err := strconv.ParseUint(name, 10, 32); err != nil && name != "" {
			return false
		}
	}
	return true
}

// isBinary tells whether a member travels as raw bytes in a multipart body.
func isBinary(schema any) bool {
	for _, s := range alternatives(schema, 0) {
		if s["contentMediaType"] == "application/octet-stream" || s["format"] == "binary" {
			return s["contentEncoding"] == nil
		}
	}
	return false
}

// encodeForm writes an object as application/x-www-form-urlencoded.
func encodeForm(tree any, b *body) ([]byte, error) {
	members, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("a form must be an object")
	}
	var pairs []string
	for _, name := range sortedNames(members) {
		if members[name] == nil {
			continue
		}
		pairs = append(pairs, queryPairs(b.field(name, members[name]), members[name])...)
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// field describes a form field as if it were a query parameter.
func (b *body) field(name string, tree any) *parameter {
	p := &parameter{name: name, style: "form", explode: true}
	rule, given := b.encoding[name]
	if given && rule.style != "" {
		p.style, p.explode = rule.style, rule.explode
	} else if _, isMap := tree.(map[string]any); isMap {
		p.json = true
	}
	return p
}

func decodeForm(data []byte, b *body) (any, error) {
	schema := operationSchema(b.schema)
	pairs := parsePairs(string(data))
	members := map[string]any{}
	names, _ := memberNames(schema)
	for _, one := range pairs {
		names[strings.SplitN(one.name, "[", 2)[0]] = true
	}
	for name := range names {
		part := memberSchema(schema, name, 0)
		var shape any
		if isObject(part) {
			shape = map[string]any{}
		}
		tree, found, err := parseQuery(b.field(name, shape), pairs, nil, part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if found {
			members[name] = tree
		}
	}
	return members, nil
}

// encodeMultipart writes an object as multipart/form-data and returns the content type with its boundary.
func encodeMultipart(tree any, b *body) ([]byte, string, error) {
	members, ok := tree.(map[string]any)
	if !ok {
		return nil, "", errors.New("a multipart body must be an object")
	}
	schema := operationSchema(b.schema)
	var out bytes.Buffer
	writer := multipart.NewWriter(&out)
	for _, name := range sortedNames(members) {
		part := memberSchema(schema, name, 0)
		values, isList := members[name].([]any)
		if isList {
			part = itemSchema(part)
		} else {
			values = []any{members[name]}
		}
		for _, value := range values {
			if err := writePart(writer, name, value, part, b.encoding[name].contentType); err != nil {
				return nil, "", err
			}
		}
	}
	if err := writer.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), writer.FormDataContentType(), nil
}

func writePart(writer *multipart.Writer, name string, value, schema any, contentType string) error {
	header := textproto.MIMEHeader{}
	disposition := map[string]string{"name": name}
	var data []byte
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		data = []byte(v)
		if isBinary(schema) {
			raw, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return err
			}
			data = raw
			disposition["filename"] = name
			if contentType == "" || strings.ContainsAny(contentType, ",*") {
				contentType = "application/octet-stream"
			}
		}
	case map[string]any, []any:
		encoded, err := json.Marshal(v)
		if err != nil {
			return err
		}
		data = encoded
		if contentType == "" {
			contentType = "application/json"
		}
	default:
		data = []byte(scalarText(v))
	}
	header.Set("Content-Disposition", mime.FormatMediaType("form-data", disposition))
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	part, err := writer.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	return err
}

func decodeMultipart(data []byte, contentType string, b *body) (any, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	schema := operationSchema(b.schema)
	reader := multipart.NewReader(bytes.NewReader(data), params["boundary"])
	members := map[string]any{}
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		name := part.FormName()
		member := memberSchema(schema, name, 0)
		inner := member
		if isArray(member) {
			inner = itemSchema(member)
		}
		var value any
		switch kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); {
		case isBinary(inner):
			value = base64.StdEncoding.EncodeToString(content)
		case kind == "application/json":
			if value, err = decodeTree(content); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		default:
			value = coerce(string(content), inner)
		}
		if isArray(member) {
			list, _ := members[name].([]any)
			members[name] = append(list, value)
		} else {
			members[name] = value
		}
	}
}

func isJSONType(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = strings.TrimSpace(strings.ToLower(contentType))
	}
	return strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json")
}

// sameType tells whether a content type is one of those listed; lists may hold ranges such as text/*.
func sameType(contentType string, types []string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = strings.TrimSpace(strings.ToLower(contentType))
	}
	for _, one := range types {
		plain, _, err := mime.ParseMediaType(one)
		if err != nil {
			plain = one
		}
		if plain == kind || plain == "*/*" || (strings.HasSuffix(plain, "/*") && strings.HasPrefix(kind, strings.TrimSuffix(plain, "*"))) {
			return true
		}
	}
	return false
}

func concrete(types []string, fallback string) string {
	if len(types) > 0 && !strings.Contains(types[0], "*") {
		return types[0]
	}
	return fallback
}
