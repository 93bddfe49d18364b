import { ChevronRight } from "lucide-react";
import { createContext, type ReactNode, useContext, useId, useState } from "react";
import styles from "./section.module.css";

/** Which sections the reader opened or closed: a card that is scrolled away forgets nothing. */
export const SectionsContext = createContext<Map<string, boolean>>(new Map());

type Props = {
  /** No other section of the page has it. */
  name: string;
  title: string;
  /** Beside the title: how many, how much. */
  note?: ReactNode;
  /** Whether it is open until the reader opens or closes it. */
  isOpen?: boolean;
  children: () => ReactNode;
};

/** A part of a card that opens and closes; what it holds is made when it is open. */
export function Section({ name, title, note, isOpen = false, children }: Props) {
  const sections = useContext(SectionsContext);
  const [chosen, choose] = useState(sections.get(name));
  const id = useId();
  const open = chosen ?? isOpen;
  const toggle = () => {
    sections.set(name, !open);
    choose(!open);
  };
  return (
    <section className={styles.section}>
      <h4>
        <button
          type="button"
          className={styles.title}
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          onClick={toggle}
        >
          <ChevronRight aria-hidden />
          {title}
          {note && <span className={styles.note}>{note}</span>}
        </button>
      </h4>
      {open && (
        <div id={id} className={styles.body}>
          {children()}
        </div>
      )}
    </section>
  );
}
