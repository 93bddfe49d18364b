import { memo, type ReactNode, useLayoutEffect, useMemo, useRef } from "react";
import Markdown, { type Components, defaultUrlTransform } from "react-markdown";
import remarkGfm from "remark-gfm";
import { blocksIn, isLight } from "./markdown-blocks.ts";

const plugins = [remarkGfm];

/** A heading without a heading element, because headings of a text must not appear in the page's outline. */
const Heading = ({ children }: { children?: ReactNode }) => (
  <p className="font-semibold">{children}</p>
);
const headings = Object.fromEntries(
  ["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, Heading]),
);

const outside = /^(https?|mailto):/i;

/** The target of links with a refused scheme, such as `javascript:`. */
const nowhere = "#";
const withoutPrograms = (url: string): string => defaultUrlTransform(url) || nowhere;

/**
 * The letters and digits of a text, without the numbers of list items and the languages of code blocks, which are not
 * text when rendered.
 */
export const lettersOf = (text: string): string =>
  text
    .replace(/^([ \t>*+-]*(?:`{3,}|~{3,}))[ \t]*[\w+#.-]+[ \t]*$/gm, "$1")
    .replace(/^([ \t>*+-]*)\d{1,9}[.)](?=\s)/gm, "$1")
    .replace(/[^\p{L}\p{N}]/gu, "");

type Props = {
  text: string;
  /** Called before the first paint if the rendered text lacks letters of the source. */
  onHiding?: (() => void) | undefined;
};

/**
 * A text as Markdown. Shows HTML as text and fetches no pictures. Links open a new tab. Each block is rendered once, also
 * while the text grows.
 */
export default function MarkdownText({ text, onHiding }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (onHiding && lettersOf(box.current?.textContent ?? "") !== lettersOf(text)) onHiding();
  }, [onHiding, text]);
  const blocks = useMemo(() => blocksIn(text), [text]);
  return (
    <div ref={box} className="markdown flex w-full flex-col gap-2 wrap-anywhere">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  if (!isLight(text)) return <div className="anywhere">{text}</div>;
  return (
    <Markdown remarkPlugins={plugins} urlTransform={withoutPrograms} components={components}>
      {text}
    </Markdown>
  );
});

const components: Components = {
  a: ({ href = "", children }) =>
    outside.test(href) ? (
      <a href={href} className="underline" target="_blank" rel="noreferrer noopener">
        {children}
      </a>
    ) : href === nowhere ? (
      <a href={nowhere} className="underline" onClick={(event) => event.preventDefault()}>
        {children}
      </a>
    ) : (
      <span title={href || undefined}>{children}</span>
    ),
  img: ({ alt, src }) => <code>{`![${alt ?? ""}](${typeof src === "string" ? src : ""})`}</code>,
  ...headings,
  table: ({ children }) => (
    <div className="overflow-x-auto">
      <table>{children}</table>
    </div>
  ),
};
