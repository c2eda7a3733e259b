package registry

import (
	"testing"

	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
