package ui

import "context"

type allowedKey struct{}

// WithAllowed is a context for pages of somebody who may not use all routes: allowed reports whether one may, by method and address.
func WithAllowed(ctx context.Context, allowed func(method, href string) bool) context.Context {
	return context.WithValue(ctx, allowedKey{}, allowed)
}

// Allowed reports whether the reader may use a route. Forms and buttons that lead to one that refuses the reader are not drawn.
func Allowed(ctx context.Context, method, href string) bool {
	allowed, ok := ctx.Value(allowedKey{}).(func(method, href string) bool)
	return !ok || allowed(method, href)
}

// mayPost reports whether the reader may send a form to an address.
func mayPost(ctx context.Context, action string) bool { return Allowed(ctx, "POST", action) }

// mayOpen reports whether the reader may open a page.
func mayOpen(ctx context.Context, href string) bool { return Allowed(ctx, "GET", href) }
