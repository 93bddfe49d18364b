import { Check, Copy as CopyIcon } from "lucide-react";
import {
  type ComponentProps,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import styles from "./button.module.css";

type Look = "solid" | "plain" | "quiet" | "danger";

type Props = ComponentProps<"button"> & {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  /** Shown as at work, and not to be pressed again. */
  isBusy?: boolean;
};

/** The class of what looks like a button: for links and the triggers of menus. */
export const buttonClass = (look: Look = "plain", small = false): string =>
  [styles.button, styles[look], small ? styles.small : ""].join(" ");

/** A button; `solid` is the one thing to do on a page. */
export function Button(props: Props) {
  const { look, small, icon, isBusy = false, children, onClick, className = "", ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={`${buttonClass(look, small)} ${children ? "" : styles.bare} ${className}`}
      // Not `disabled`: that would take the focus away, and a failure would leave it nowhere.
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon}
      {children}
    </button>
  );
}

/** Copies a text; `what` names it: "the id". */
export function Copy({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return (
    <Button
      look="quiet"
      small
      icon={isCopied ? <Check /> : <CopyIcon />}
      aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
      title={`Copy ${what}`}
      onClick={copy}
    />
  );
}

/** A command to type in a terminal, with a button that copies it. */
export function Command({ children }: { children: string }) {
  return (
    <div className={styles.command}>
      <code>
        <span className={styles.prompt} aria-hidden>
          ${" "}
        </span>
        {children}
      </code>
      <Copy text={children} what="the command" />
    </div>
  );
}

/** What lies over the page has the focus for a while, and gives it back. */
const over = "[role=dialog], [role=menu]";

/** Keeps the focus in a group of controls when the one that has it goes away, as Pause does when it was pressed. */
export function useKeptFocus(group: RefObject<HTMLElement | null>): void {
  const isOurs = useRef(false);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      const isOver = target instanceof Element && target.closest(over) !== null;
      if (!isOver) isOurs.current = group.current?.contains(target as Node) ?? false;
    };
    document.addEventListener("focusin", onFocus);
    return () => document.removeEventListener("focusin", onFocus);
  }, [group]);
  useEffect(() => {
    const isLost = document.activeElement === document.body && !document.querySelector(over);
    if (isOurs.current && isLost) group.current?.querySelector<HTMLElement>("button, a")?.focus();
  });
}
