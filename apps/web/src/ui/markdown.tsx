import type { ReactNode } from "react";
import Markdown, { defaultUrlTransform } from "react-markdown";
import remarkGfm from "remark-gfm";

const plugins = [remarkGfm];

/** A heading of a model's text is none of the page's. */
const Heading = ({ children }: { children?: ReactNode }) => (
  <p className="font-semibold">{children}</p>
);
const headings = Object.fromEntries(
  ["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, Heading]),
);

/** Where a link may lead: what it names beside the console is no page of it. */
const outside = /^(https?|mailto):/i;

/** Where a link leads that would run a program: nowhere. */
const nowhere = "#";
const withoutPrograms = (url: string): string => defaultUrlTransform(url) || nowhere;

/**
 * A model's text, laid out. HTML in it is shown as text, never made: the parser is given no plugin that
 * would. Pictures are not fetched, and links open beside the console.
 */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className="markdown flex flex-col gap-6 wrap-anywhere">
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
