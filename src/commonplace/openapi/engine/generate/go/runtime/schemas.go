package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	schemaTexts = sync.OnceValue(func() map[string]json.RawMessage {
		var texts map[string]json.RawMessage
		if err := json.Unmarshal([]byte(schemasJSON), &texts); err != nil {
			panic(err) // generated text
		}
		return texts
	})
	schemaCache  sync.Map // key to decoded schema
	patternCache sync.Map // pattern to *regexp.Regexp or nil
)

// schemaFor returns the decoded schema of a key; a key without one admits everything.
func schemaFor(key string) any {
	if schema, ok := schemaCache.Load(key); ok {
		return schema
	}
	text, ok := schemaTexts()[key]
	if !ok {
		return true
	}
	schema, err := decodeTree(text)
	if err != nil {
		return true
	}
	schemaCache.Store(key, schema)
	return schema
}

// decodeTree reads JSON into maps, slices and json.Number.
func decodeTree(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return value, nil
}

// Problem is one way in which a value breaks its schema.
type Problem struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

const maxProblems = 20

type checker struct {
	request  bool // members that are read-only need not be there
	problems []Problem
}

// checkValue lists what is wrong with a decoded value.
func checkValue(value, schema any, request bool) []Problem {
	c := &checker{request: request}
	c.check(value, schema, "", 0)
	return c.problems
}

func (c *checker) fits(value, schema any, depth int) bool {
	inner := &checker{request: c.request}
	inner.check(value, schema, "", depth)
	return len(inner.problems) == 0
}

func (c *checker) fail(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) check(value, schema any, path string, depth int) {
	if allowed, ok := schema.(bool); ok {
		if !allowed {
			c.fail(path, "no value is allowed here")
		}
		return
	}
	s, ok := schema.(map[string]any)
	if !ok || depth > 200 {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		c.check(value, schemaFor(ref), path, depth+1)
	}
	if types := typeList(s["type"]); len(types) > 0 && !hasType(value, types) {
		c.fail(path, "must be %s", strings.Join(types, " or "))
		return
	}
	if values, ok := s["enum"].([]any); ok && !contains(values, value) {
		c.fail(path, "must be one of the listed values")
	}
	switch v := value.(type) {
	case string:
		c.checkString(v, s, path)
	case json.Number:
		c.checkNumber(v, s, path)
	case []any:
		c.checkArray(v, s, path, depth)
	case map[string]any:
		c.checkObject(v, s, path, depth)
	}
	c.checkCombined(value, s, path, depth)
}

func (c *checker) checkCombined(value any, s map[string]any, path string, depth int) {
	if parts, ok := s["allOf"].([]any); ok {
		for _, part := range parts {
			c.check(value, part, path, depth+1)
		}
	}
	if parts, ok := s["anyOf"].([]any); ok && c.count(value, parts, depth) == 0 {
		c.fail(path, "fits none of the allowed forms")
	}
	if parts, ok := s["oneOf"].([]any); ok {
		switch n := c.count(value, parts, depth); {
		case n == 0:
			c.fail(path, "fits none of the allowed forms")
		case n > 1:
			c.fail(path, "fits %d forms where exactly one is allowed", n)
		}
	}
	if part, ok := s["not"]; ok && c.fits(value, part, depth+1) {
		c.fail(path, "has a form that is not allowed")
	}
	if condition, ok := s["if"]; ok {
		branch := "else"
		if c.fits(value, condition, depth+1) {
			branch = "then"
		}
		if part, ok := s[branch]; ok {
			c.check(value, part, path, depth+1)
		}
	}
}

func (c *checker) count(value any, parts []any, depth int) int {
	n := 0
	for _, part := range parts {
		if c.fits(value, part, depth+1) {
			n++
		}
	}
	return n
}

func (c *checker) checkString(v string, s map[string]any, path string) {
	length := float64(utf8.RuneCountInString(v))
	if limit, ok := number(s["minLength"]); ok && length < limit {
		c.fail(path, "must have at least %v characters", limit)
	}
	if limit, ok := number(s["maxLength"]); ok && length > limit {
		c.fail(path, "must have at most %v characters", limit)
	}
	if text, ok := s["pattern"].(string); ok {
		if pattern := compiled(text); pattern != nil && !pattern.MatchString(v) {
			c.fail(path, "must match %s", text)
		}
	}
}

func (c *checker) checkNumber(v json.Number, s map[string]any, path string) {
	n, err := v.Float64()
	if err != nil {
		c.fail(path, "is not a usable number")
		return
	}
	if limit, ok := number(s["minimum"]); ok && n < limit {
		c.fail(path, "must be at least %v", limit)
	}
	if limit, ok := number(s["maximum"]); ok && n > limit {
		c.fail(path, "must be at most %v", limit)
	}
	if limit, ok := number(s["exclusiveMinimum"]); ok && n <= limit {
		c.fail(path, "must be above %v", limit)
	}
	if limit, ok := number(s["exclusiveMaximum"]); ok && n >= limit {
		c.fail(path, "must be below %v", limit)
	}
	if step, ok := number(s["multipleOf"]); ok && step > 0 {
		quotient := n / step
		if math.Abs(quotient-math.Round(quotient)) > 1e-9*math.Max(1, math.Abs(quotient)) {
			c.fail(path, "must be a multiple of %v", step)
		}
	}
}

func (c *checker) checkArray(v []any, s map[string]any, path string, depth int) {
	if limit, ok := number(s["minItems"]); ok && float64(len(v)) < limit {
		c.fail(path, "must have at least %v items", limit)
	}
	if limit, ok := number(s["maxItems"]); ok && float64(len(v)) > limit {
		c.fail(path, "must have at most %v items", limit)
	}
	if unique, _ := s["uniqueItems"].(bool); unique {
		seen := make(map[string]bool, len(v))
		for _, item := range v {
			key, err := json.Marshal(item)
			if err == nil && seen[string(key)] {
				c.fail(path, "must not repeat an item")
				break
			}
			seen[string(key)] = true
		}
	}
	prefix, _ := s["prefixItems"].([]any)
	items, hasItems := s["items"]
	for i, item := range v {
		switch {
		case i < len(prefix):
			c.check(item, prefix[i], path+"/"+strconv.Itoa(i), depth+1)
		case hasItems:
			c.check(item, items, path+"/"+strconv.Itoa(i), depth+1)
		}
	}
	if part, ok := s["contains"]; ok {
		n := float64(0)
		for _, item := range v {
			if c.fits(item, part, depth+1) {
				n++
			}
		}
		least, given := number(s["minContains"])
		if !given {
			least = 1
		}
		if n < least {
			c.fail(path, "lacks an item that must be there")
		}
		if most, ok := number(s["maxContains"]); ok && n > most {
			c.fail(path, "has too many items of one form")
		}
	}
}

func (c *checker) checkObject(v map[string]any, s map[string]any, path string, depth int) {
	if limit, ok := number(s["minProperties"]); ok && float64(len(v)) < limit {
		c.fail(path, "must have at least %v members", limit)
	}
	if limit, ok := number(s["maxProperties"]); ok && float64(len(v)) > limit {
		c.fail(path, "must have at most %v members", limit)
	}
	properties, _ := s["properties"].(map[string]any)
	c.checkRequired(v, s["required"], s, path)
	if dependent, ok := s["dependentRequired"].(map[string]any); ok {
		for name, names := range dependent {
			if _, there := v[name]; there {
				c.checkRequired(v, names, s, path)
			}
		}
	}
	if dependent, ok := s["dependentSchemas"].(map[string]any); ok {
		for name, part := range dependent {
			if _, there := v[name]; there {
				c.check(v, part, path, depth+1)
			}
		}
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	additional, closed := s["additionalProperties"]
	names, hasNames := s["propertyNames"]
	for name, member := range v {
		at := path + "/" + name
		if hasNames {
			c.check(name, names, at, depth+1)
		}
		known := false
		if part, ok := properties[name]; ok {
			known = true
			c.check(member, part, at, depth+1)
		}
		for text, part := range patterns {
			if pattern := compiled(text); pattern != nil && pattern.MatchString(name) {
				known = true
				c.check(member, part, at, depth+1)
			}
		}
		if !known && closed {
			if allowed, ok := additional.(bool); ok && !allowed {
				c.fail(at, "is not a known member")
			} else {
				c.check(member, additional, at, depth+1)
			}
		}
	}
}

func (c *checker) checkRequired(v map[string]any, names any, s map[string]any, path string) {
	list, _ := names.([]any)
	for _, entry := range list {
		name, _ := entry.(string)
		if _, there := v[name]; there {
			continue
		}
		if c.request && isReadOnly(memberSchema(s, name, 0), 0) {
			continue
		}
		c.fail(path+"/"+name, "is required")
	}
}

func isReadOnly(schema any, depth int) bool {
	s, ok := schema.(map[string]any)
	if !ok || depth > 20 {
		return false
	}
	if flag, _ := s["readOnly"].(bool); flag {
		return true
	}
	if ref, ok := s["$ref"].(string); ok && isReadOnly(schemaFor(ref), depth+1) {
		return true
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if isReadOnly(part, depth+1) {
			return true
		}
	}
	return false
}

// alternatives lists a schema, what it refers to and what it is composed of.
func alternatives(schema any, depth int) []map[string]any {
	s, ok := schema.(map[string]any)
	if !ok || depth > 20 {
		return nil
	}
	found := []map[string]any{s}
	if ref, ok := s["$ref"].(string); ok {
		found = append(found, alternatives(schemaFor(ref), depth+1)...)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, part := range parts {
			found = append(found, alternatives(part, depth+1)...)
		}
	}
	return found
}

// memberSchema finds the schema of an object's member, through references and compositions.
func memberSchema(schema any, name string, depth int) any {
	for _, s := range alternatives(schema, depth) {
		if properties, ok := s["properties"].(map[string]any); ok {
			if member, ok := properties[name]; ok {
				return member
			}
		}
	}
	for _, s := range alternatives(schema, depth) {
		if member, ok := s["additionalProperties"].(map[string]any); ok {
			return member
		}
	}
	return nil
}

// memberNames lists the declared members of an object schema, and whether it admits others.
func memberNames(schema any) (names map[string]bool, open bool) {
	names = map[string]bool{}
	for _, s := range alternatives(schema, 0) {
		properties, _ := s["properties"].(map[string]any)
		for name := range properties {
			names[name] = true
		}
		if additional, ok := s["additionalProperties"]; ok && additional != false {
			open = true
		}
	}
	return names, open
}

func itemSchema(schema any) any {
	for _, s := range alternatives(schema, 0) {
		if items, ok := s["items"]; ok {
			return items
		}
	}
	return nil
}

func schemaTypes(schema any) map[string]bool {
	types := map[string]bool{}
	for _, s := range alternatives(schema, 0) {
		for _, name := range typeList(s["type"]) {
			types[name] = true
		}
		if _, ok := s["properties"]; ok {
			types["object"] = true
		}
	}
	return types
}

// unknownMembers counts the members of an object that a schema does not name.
func unknownMembers(value, schema any) int {
	members, ok := value.(map[string]any)
	if !ok {
		return 0
	}
	names, open := memberNames(schema)
	n := 0
	for name := range members {
		if !names[name] {
			n++
		}
	}
	if open && n > 0 {
		return 1
	}
	return n
}

func typeList(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, entry := range v {
			if name, ok := entry.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

func hasType(value any, types []string) bool {
	for _, name := range types {
		ok := false
		switch v := value.(type) {
		case nil:
			ok = name == "null"
		case bool:
			ok = name == "boolean"
		case string:
			ok = name == "string"
		case []any:
			ok = name == "array"
		case map[string]any:
			ok = name == "object"
		case json.Number:
			n, err := v.Float64()
			ok = name == "number" || (name == "integer" && err == nil && n == math.Trunc(n))
		}
		if ok {
			return true
		}
	}
	return false
}

func contains(values []any, value any) bool {
	for _, one := range values {
		if equalTrees(one, value) {
			return true
		}
	}
	return false
}

func equalTrees(a, b any) bool {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		if x == y {
			return true
		}
		m, err1 := x.Float64()
		n, err2 := y.Float64()
		return err1 == nil && err2 == nil && m == n
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalTrees(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name := range x {
			other, there := y[name]
			if !there || !equalTrees(x[name], other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func number(value any) (float64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// compiled returns the pattern, or nil where Go's syntax does not know it: such a pattern is not checked.
func compiled(text string) *regexp.Regexp {
	if pattern, ok := patternCache.Load(text); ok {
		return pattern.(*regexp.Regexp)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		pattern = nil
	}
	patternCache.Store(text, pattern)
	return pattern
}
