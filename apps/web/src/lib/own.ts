/** An own property of a record. Ignores inherited properties. */
export const ownIn = <Value>(
  all: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined => (Object.hasOwn(all, name) ? all[name] : undefined);
