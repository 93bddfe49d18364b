import type { ReactNode } from "react";
import Markdown, { defaultUrlTransform } from "react-markdown";
import remarkGfm from "remark-gfm";

const plugins = [remarkGfm];

/** A heading without a heading element, because headings of a text must not appear in the page's outline. */
const Heading = ({ children }: { children?: ReactNode }) => (
  <p className="font-semibold">{children}</p>
);
const headings = Object.fromEntries(
  ["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, Heading]),
);

/** External link targets. */
const outside = /^(https?|mailto):/i;

/** The target of links with a refused scheme, such as `javascript:`. */
const nowhere = "#";
const withoutPrograms = (url: string): string => defaultUrlTransform(url) || nowhere;

/** A text as Markdown. Shows HTML as text and fetches no pictures. Links open a new tab. */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className="markdown flex flex-col gap-2 wrap-anywhere">
      <Markdown
        remarkPlugins={plugins}
        urlTransform={withoutPrograms}
        components={{
          a: ({ href = "", children }) =>
            outside.test(href) ? (
              <a href={href} target="_blank" rel="noreferrer noopener">
                {children}
              </a>
            ) : href === nowhere ? (
              <a href={nowhere} onClick={(event) => event.preventDefault()}>
                {children}
              </a>
            ) : (
              <span title={href || undefined}>{children}</span>
            ),
          img: ({ alt, src }) => (
            <code>{`![${alt ?? ""}](${typeof src === "string" ? src : ""})`}</code>
          ),
          ...headings,
          table: ({ children }) => (
            <div className="overflow-x-auto">
              <table>{children}</table>
            </div>
          ),
        }}
      >
        {text}
      </Markdown>
    </div>
  );
}
