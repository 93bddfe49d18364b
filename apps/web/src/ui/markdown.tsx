import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";
import styles from "./markdown.module.css";

const plugins = [remarkGfm];

/**
 * A model's text, laid out. HTML in it is shown as text, never made: the parser is given no plugin that
 * would. Pictures are not fetched, and links open beside the console.
 */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      <Markdown
        remarkPlugins={plugins}
        components={{
          a: ({ href, children }) => (
            <a href={href} target="_blank" rel="noreferrer noopener">
              {children}
            </a>
          ),
          img: ({ alt, src }) => (
            <code>{`![${alt ?? ""}](${typeof src === "string" ? src : ""})`}</code>
          ),
          h1: ({ children }) => <p className={styles.heading}>{children}</p>,
          h2: ({ children }) => <p className={styles.heading}>{children}</p>,
          h3: ({ children }) => <p className={styles.heading}>{children}</p>,
          h4: ({ children }) => <p className={styles.heading}>{children}</p>,
          h5: ({ children }) => <p className={styles.heading}>{children}</p>,
          h6: ({ children }) => <p className={styles.heading}>{children}</p>,
          table: ({ children }) => (
            <div className={styles.table}>
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
