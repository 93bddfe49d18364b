/** What the address of the Add page holds. */
export type AddSearch = {
  /** The workflow that a version is added to. */
  name?: string;
};

/** Reads an address; what it can't be is left out. */
export const readAddSearch = ({ name }: Record<string, unknown>): AddSearch => ({
  name: typeof name === "string" && name !== "" ? name : undefined,
});
