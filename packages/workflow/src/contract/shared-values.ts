/**
 * Small values that all threads of a machine share, whatever their workflow and its version. They are no truth: any may be
 * lost at any time.
 */
export type SharedValues = {
  /**
   * Changes the value with a name of 32 hexadecimal digits. `change` gets it, undefined where there is none, and returns what
   * it becomes, undefined when it stays as it is. Nobody else changes it meanwhile: `change` must be quick. Resolves with
   * false when the value can't be read or written; it is then as it was.
   */
  update(name: string, change: (value: unknown) => unknown): Promise<boolean>;
};
