/** Permission of a token: reading, answering questions too, or everything. */
export type Role = "read" | "answer" | "operate";
