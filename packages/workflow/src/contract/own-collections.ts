/*
 * Apart from the other built-ins that a bundle can't replace: authors import those, and what is done here when the
 * module is loaded could not be left out of their bundles.
 */

/** A map whose methods are its own, but for its iterators: they are everyone's. */
export class OwnMap<Key, Value> extends Map<Key, Value> {}
/** A set, in the same way. */
export class OwnSet<Value> extends Set<Value> {}
ownMethods(OwnMap.prototype, Map.prototype);
ownMethods(OwnSet.prototype, Set.prototype);

function ownMethods(own: object, base: object): void {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(base);
  Object.defineProperties(own, methods);
}
