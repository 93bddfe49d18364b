/** The text of `self-test.mjs`, which runs inside sandboxes as a file of its own. */
declare const source: string;
export default source;
