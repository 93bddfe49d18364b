/** The own property of a record, without inherited ones. */
export const ownIn = <Value>(
  all: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined => (Object.hasOwn(all, name) ? all[name] : undefined);
