// Package contracts holds the register of OpenAPI and AsyncAPI documents: their versions, what may read them, the event types they define,
// advice on them, who downloads them, and the mirrors of other registers.
package contracts
