/** What a token allows: to read, to answer questions too, or to do everything. */
export type Role = "read" | "answer" | "operate";
