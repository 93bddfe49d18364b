/** The text of `inside.mjs`, which runs inside sandboxes as a file of its own. */
declare const source: string;
export default source;
