'use strict';
// Shows what the server pushes. All text gets into the page as text, never as HTML.

// The link has the token behind its #, which is not sent to the server and does not stay in the address.
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem('token', given);
  history.replaceState(null, '', location.pathname);
}
const silence = 40000; // ms, more than two of the server's signs of life
const main = document.querySelector('main'), banner = document.querySelector('#banner');
const opened = new Map(); // what the user opened or closed, by key
let state, lost;

function el(name, kind, ...children) {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.append(...children.filter((child) => child || child === 0));
  return element;
}

function details(key, open, summary, ...children) {
  const element = el('details', '', el('summary', '', ...summary), ...children);
  element.open = opened.get(key) ?? open;
  element.firstChild.addEventListener('click', () => opened.set(key, !element.open));
  return element;
}

const table = (heads, rows) => el('table', '', el('tr', '', ...heads.map((head) => el('th', '', head))), ...rows);
const row = (...cells) => el('tr', '', ...cells.map((cell) => (cell instanceof Node ? el('td', '', cell) : el('td', '', ...[cell].flat()))));
const dot = (good, bad) => el('span', good ? 'good' : bad ? 'bad' : 'wait', good ? '✔ ' : bad ? '✖ ' : '… ');
const clock = (time) => new Date(time).toLocaleTimeString();

function age(time) {
  const seconds = Math.max(0, Math.round((Date.now() - new Date(time)) / 1000));
  if (seconds < 120) return seconds + 's';
  if (seconds < 7200) return Math.round(seconds / 60) + 'm';
  return seconds < 172800 ? Math.round(seconds / 3600) + 'h' : Math.round(seconds / 86400) + 'd';
}

function object(node, key) {
  const {summary, problems = [], conditions = [], children = []} = node;
  const line = [summary ? dot(summary.status === 'True') : '', node.title, node.deleting ? ' (deleting)' : ''];
  if (summary && summary.status !== 'True') line.push(el('span', 'wait', ' ' + summary.reason), el('span', 'quiet', ' ' + age(summary.lastTransitionTime) + ' ' + (summary.message ?? '')));
  const rows = conditions.map((c) => row(el('span', problems.includes(c.type) ? 'wait' : '', c.type), c.status, c.reason, age(c.lastTransitionTime), c.message ?? ''));
  return el('li', '',
    rows.length ? details(key, false, line, table(['Condition', 'Status', 'Reason', 'Since', 'Message'], rows)) : el('div', '', ...line),
    el('ul', '', ...children.map((child) => object(child, key + '/' + child.title))));
}

function machine(m) {
  const container = [m.container || '–', m.status ? el('span', m.status === 'running' ? 'good' : 'bad', ' ' + m.status) : ''];
  const steps = (m.steps ?? []).map((s) => el('span', 'chip step', s.name + ' ' + s.seconds + ' s'));
  const result = row([dot(m.ready), m.name + ' ', m.controlPlane ? el('span', 'chip', 'control plane') : ''], container, m.node || '–', [m.state, el('div', '', ...steps)]);
  result.dataset.machine = m.name;
  return result;
}

function balancer(b) {
  const backends = b.backends.map((s) => el('span', 'chip', dot(s.Status === 'UP', s.Status), (s.Name + ' ' + s.Address + ' ' + (s.Status || 'not checked') + (s.Weight ? '' : ', drained'))));
  return row(b.name, b.service ? 'Service ' + b.service : 'API servers', el('span', b.status === 'running' ? 'good' : 'bad', b.status), b.error ? el('span', 'bad', b.error) : backends.length ? backends : 'none');
}

function cluster(c) {
  const key = c.namespace + '/' + c.name;
  const section = el('section', '',
    el('h2', '', dot(c.available, (c.troubles ?? []).length), c.name, el('span', 'quiet', ' ' + (c.namespace === 'default' ? '' : c.namespace + ' ') + (c.kubernetesVersion ?? ''))),
    el('p', 'state quiet', c.state),
    ...(c.troubles ?? []).map((t) => el('div', 'trouble', el('b', '', t.object + ': ' + t.reason), ' ' + t.message, el('div', '', 'Remedy: ' + t.remedy))),
    el('div', '', ...c.stages.map((s) => el('span', 'chip stage', dot(s.Done), s.Name + ': ' + s.Detail))),
    el('h3', '', 'Machines'), table(['Machine', 'Container', 'Node', 'State, and steps of the bootstrap'], c.machines.map(machine)),
    ...(c.balancers.length ? [el('h3', '', 'Load balancers'), table(['Container', 'For', 'Status', 'Backends'], c.balancers.map(balancer))] : []),
    el('h3', '', 'Objects and conditions'), el('ul', 'objects', object(c.objects, key)));
  section.dataset.cluster = key;
  return section;
}

function render() {
  const problem = lost ? `capcon dashboard does not respond since ${clock(lost.since)}: ${lost.message}` :
    state?.error ? `The management cluster does not respond since ${clock(state.error.since)}: ${state.error.message}` : '';
  banner.hidden = !problem;
  banner.textContent = problem && problem + '. Trying again; what is shown is older.';
  main.classList.toggle('stale', Boolean(problem));
  if (!state) return;
  document.querySelector('#source').textContent = state.management + ', container engine ' + state.engine;
  main.replaceChildren(...(state.clusters?.length ? state.clusters.map(cluster) : [el('p', 'notice', state.notice || (state.error ? '' : 'No clusters.'))]));
}

async function receive() {
  const abort = new AbortController();
  let timer = setTimeout(() => abort.abort(), silence), text = '';
  try {
    const response = await fetch('events', {headers: {Authorization: 'Bearer ' + sessionStorage.getItem('token')}, signal: abort.signal});
    if (!response.ok) throw new Error((await response.text()).trim());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), silence);
      const events = (text + part.value).split('\n\n');
      text = events.pop();
      const last = events.filter((event) => event.startsWith('data: ')).pop();
      lost = undefined;
      if (last) state = JSON.parse(last.slice('data: '.length));
      render();
    }
    throw new Error('it ended');
  } finally {
    clearTimeout(timer);
  }
}

async function listen() {
  for (;;) {
    await receive().catch((error) => { lost = {since: lost?.since ?? Date.now(), message: error.message}; });
    render();
    await new Promise((resume) => { setTimeout(resume, 1000); });
  }
}

listen();
