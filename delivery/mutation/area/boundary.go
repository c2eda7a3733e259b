package area

// Boundary reads the text of an area given in one system, or that names its own, and gives the WKT of its boundary in
// another, by their EPSG numbers. It answers the errors of Parse.
func Boundary(given string, crs, target int) (wkt string, err error) {
	a, err := Parse(given, Options{Dataset: CRS(target), Given: CRS(crs)})
	if err != nil {
		return "", err
	}
	return a.WKT(), nil
}
