package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"time"
)

// Nullable is an optional value that may also be null: absent, null or set. Its zero value is absent.
type Nullable[T any] struct {
	value *T
	null  bool
}

// Set returns a Nullable that holds a value.
func Set[T any](value T) Nullable[T] {
	return Nullable[T]{value: &value}
}

// Null returns a Nullable that is null.
func Null[T any]() Nullable[T] {
	return Nullable[T]{null: true}
}

// Get returns the value and whether there is one.
func (n Nullable[T]) Get() (T, bool) {
	if n.value == nil {
		var zero T
		return zero, false
	}
	return *n.value, true
}

// IsNull tells whether the value is null.
func (n Nullable[T]) IsNull() bool {
	return n.null
}

// IsZero tells whether the value is absent; encoding/json then omits the field.
func (n Nullable[T]) IsZero() bool {
	return n.value == nil && !n.null
}

// MarshalJSON writes the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.value == nil {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON reads a value or null.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	*n = Nullable[T]{}
	if isNull(data) {
		n.null = true
		return nil
	}
	n.value = new(T)
	return json.Unmarshal(data, n.value)
}

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T {
	return &value
}

// Date is a day without time, written as 2006-01-02.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of a time.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{Year: year, Month: month, Day: day}
}

// String returns the date as 2006-01-02.
func (d Date) String() string {
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day)
}

// MarshalText writes the date as 2006-01-02.
func (d Date) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// UnmarshalText reads a date such as 2006-01-02.
func (d *Date) UnmarshalText(text []byte) error {
	t, err := time.Parse("2006-01-02", string(text))
	if err != nil {
		return err
	}
	*d = DateOf(t)
	return nil
}

func isNull(data []byte) bool {
	return bytes.Equal(bytes.TrimSpace(data), []byte("null"))
}

// isNil tells whether an interface holds nothing, or a nil pointer, slice, map or interface.
func isNil(value any) bool {
	if value == nil {
		return true
	}
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// marshalObject writes a struct and then the members of further maps, sorted by name.
func marshalObject(plain any, rest map[string]any) ([]byte, error) {
	data, err := json.Marshal(plain)
	if err != nil || len(rest) == 0 {
		return data, err
	}
	names := make([]string, 0, len(rest))
	for name := range rest {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bytes.NewBuffer(bytes.TrimSuffix(data, []byte("}")))
	for _, name := range names {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(rest[name])
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// unmarshalRest reads the members of an object that are not known fields.
func unmarshalRest[T any](data []byte, into *map[string]T, known ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for _, name := range known {
		delete(members, name)
	}
	*into = nil
	if len(members) == 0 {
		return nil
	}
	*into = make(map[string]T, len(members))
	for name, raw := range members {
		var value T
		if err := json.Unmarshal(raw, &value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		(*into)[name] = value
	}
	return nil
}

// unmarshalMember reads one member of an object by its exact name, if it is there.
func unmarshalMember(data []byte, name string, into any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if raw, ok := members[name]; ok {
		return json.Unmarshal(raw, into)
	}
	return nil
}

// union says how the variants of a union are told apart.
type union struct {
	discriminator string
	mapping       map[string]int
	schemas       []string
	all           bool // anyOf: every variant that fits is kept
}

// marshalVariants writes the variant that is set; the members of several objects are merged.
func marshalVariants(variants ...any) ([]byte, error) {
	var parts [][]byte
	for _, variant := range variants {
		if isNil(variant) {
			continue
		}
		data, err := json.Marshal(variant)
		if err != nil {
			return nil, err
		}
		parts = append(parts, data)
	}
	switch len(parts) {
	case 0:
		return []byte("null"), nil
	case 1:
		return parts[0], nil
	}
	merged := map[string]json.RawMessage{}
	for _, part := range parts {
		if err := json.Unmarshal(part, &merged); err != nil {
			return parts[0], nil
		}
	}
	return json.Marshal(merged)
}

// unmarshalVariants reads data into the variants it fits: one for oneOf, one or more for anyOf.
func unmarshalVariants(data []byte, u *union, targets ...any) error {
	if isNull(data) {
		return nil
	}
	if u.discriminator != "" {
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) == nil {
			var value any
			if json.Unmarshal(members[u.discriminator], &value) == nil {
				if index, ok := u.mapping[fmt.Sprint(value)]; ok {
					return json.Unmarshal(data, targets[index])
				}
			}
		}
	}
	value, err := decodeTree(data)
	if err != nil {
		return err
	}
	best, fits := -1, map[int]bool{}
	least := 0
	for index, key := range u.schemas {
		schema := schemaFor(key)
		if len(checkValue(value, schema, false)) > 0 {
			continue
		}
		fits[index] = true
		unknown := unknownMembers(value, schema)
		if best < 0 || unknown < least {
			best, least = index, unknown
		}
	}
	if u.all && len(fits) > 1 {
		if _, isObject := value.(map[string]any); isObject {
			var failed []error
			for index := range targets {
				if fits[index] {
					if err := json.Unmarshal(data, targets[index]); err != nil {
						reflect.ValueOf(targets[index]).Elem().SetZero()
						failed = append(failed, err)
					}
				}
			}
			if len(failed) == len(fits) {
				return errors.Join(failed...)
			}
			return nil
		}
	}
	if best >= 0 {
		if err := json.Unmarshal(data, targets[best]); err == nil {
			return nil
		}
		reflect.ValueOf(targets[best]).Elem().SetZero()
	}
	var failed []error
	for _, target := range targets {
		err := json.Unmarshal(data, target)
		if err == nil {
			return nil
		}
		reflect.ValueOf(target).Elem().SetZero()
		failed = append(failed, err)
	}
	return fmt.Errorf("no variant fits: %w", errors.Join(failed...))
}

// dereference returns what a pointer points to.
func dereference(pointer any) any {
	v := reflect.ValueOf(pointer)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return pointer
	}
	return v.Elem().Interface()
}
