/**
 * Small values shared by all threads of a machine, across workflows and versions. They are only a cache: any value may
 * be lost at any time.
 */
export type SharedValues = {
  /**
   * Changes the value with a name of 32 hexadecimal digits. `change` gets the value, or undefined if it is missing, and
   * returns the new value; undefined keeps the old value. It runs under a lock, so it must be quick. Resolves with
   * false, and changes nothing, when the value can't be read or written.
   */
  update(name: string, change: (value: unknown) => unknown): Promise<boolean>;
};
