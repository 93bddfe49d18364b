/** What takes longer to lay out than a reader waits: it grows with the square of these. */
const most = { letters: 20_000, marks: 2_000 };

const marks = /[*_~`[\]<|]/g;
const nestedTooDeeply = /^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){50}/m;

/** Whether a text can be laid out as Markdown while its reader looks on; else it is shown as it is. */
export const isLight = (text: string): boolean =>
  text.length <= most.letters &&
  (text.match(marks)?.length ?? 0) <= most.marks &&
  !nestedTooDeeply.test(text);
