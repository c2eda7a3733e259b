// Package site carries the pages of all features: rendering, forms, paging, sessions, accounts, errors and their answers, and
// the parts that pages of several features show.
//
// It knows no feature: features embed [Portal] and register their routes with [App.Pages]. A session is recognised before a
// handler runs, and forms of other origins are refused. It cannot guard a wrong Scope: handlers take
// the partner from [PartnerID] alone (guarantee G7).
package site
