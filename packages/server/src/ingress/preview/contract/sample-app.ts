/**
 * A web app to be run in a sandbox: honest and hostile answers, server-sent events, WebSockets, and a memory of who left.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * In Python without packages, which every sandbox under test has.
 */
export const SAMPLE_APP = String.raw`
import base64, hashlib, json, struct, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

left, arrived = [], threading.Condition()

def until(name):
    with arrived:
        arrived.wait_for(lambda: name in left, 30)

def note(name):
    with arrived:
        left.append(name)
        arrived.notify_all()

class App(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def body(self):
        size = self.headers.get('content-length')
        if size is not None:
            remaining = int(size)
            while remaining > 0:
                piece = self.rfile.read(min(65536, remaining))
                if not piece:
                    raise ConnectionError
                remaining -= len(piece)
                yield piece
        elif 'chunked' in self.headers.get('transfer-encoding', ''):
            while True:
                line = self.rfile.readline()
                if not line:
                    raise ConnectionError
                size = int(line, 16)
                piece = self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return
                yield piece

    def say(self, value, status=200, headers=()):
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, content in headers:
            self.send_header(name, content)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def raw(self, text):
        self.wfile.write(text)
        self.wfile.flush()
        self.close_connection = True

    def until_left(self, name):
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        note(name)
        self.close_connection = True

    def chunk(self, text):
        self.wfile.write(b'%x\r\n%s\r\n' % (len(text), text))
        self.wfile.flush()

    def handle_all(self):
        path, _, name = self.path.partition('?')
        if path == '/socket':
            return self.socket(name)
        if path == '/events':
            self.send_response(200)
            self.send_header('content-type', 'text/event-stream')
            self.send_header('transfer-encoding', 'chunked')
            self.end_headers()
            self.chunk(b'data: first\n\n')
            until(name)
            self.chunk(b'data: last\n\n')
            return self.chunk(b'')
        if path == '/note':
            note(name)
            return self.say('noted')
        if path == '/left':
            until(name)
            return self.say(list(left))
        if path == '/download':
            size = int(name)
            self.send_response(200)
            self.send_header('content-type', 'application/octet-stream')
            self.send_header('content-length', str(size))
            self.end_headers()
            piece = b'x' * 65536
            while size > 0:
                self.wfile.write(piece[:size])
                size -= len(piece)
            return
        if path == '/stay':
            self.send_response(200)
            self.send_header('transfer-encoding', 'chunked')
            self.end_headers()
            self.chunk(b'here')
            return self.until_left(name)
        if path == '/stay-without-length':
            self.raw(b'HTTP/1.0 200 OK\r\n\r\nhere')
            return self.until_left(name)
        if path == '/wait-for-body':
            list(self.body())
            note(name + '-begun')
            return self.until_left(name)
        if path == '/wait':
            return self.until_left(name)
        if path == '/refuse-unread':
            return self.raw(b'HTTP/1.1 413 Too Large\r\ncontent-length: 8\r\n\r\ntoo much')
        if path == '/die-in-pieces':
            return self.raw(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n')
        if path == '/die-before-its-length':
            return self.raw(b'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf')
        if path == '/die-at-once':
            return self.raw(b'')
        if path == '/nonsense':
            return self.raw(b'SSH-2.0-OpenSSH\r\n\r\n')
        if path == '/split-header':
            return self.raw(b'HTTP/1.1 200 OK\r\nx-a: one\rset-cookie: evil=1\r\ncontent-length: 0\r\n\r\n')
        if path == '/two-lengths':
            return self.raw(b'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 20\r\n\r\nhi')
        if path == '/two-answers':
            return self.raw(b'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')
        if path == '/large-header':
            return self.raw(b'HTTP/1.1 200 OK\r\nx-a: ' + b'a' * 100000 + b'\r\ncontent-length: 0\r\n\r\n')
        if path == '/switch':
            return self.raw(b'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: evil\r\n\r\nevil')
        if path == '/cookies':
            return self.say('cookies', headers=[('set-cookie', 'a=1; Domain=localhost; Path=/; HttpOnly'), ('set-cookie', 'b=2')])
        if path == '/to-itself':
            return self.say('moved', 302, [('location', 'http://localhost:%d/there?x=1' % self.server.server_port)])
        if path == '/to-root':
            return self.say('moved', 302, [('location', '/there')])
        if path == '/speaks-for-the-host':
            names = ['clear-site-data', 'strict-transport-security', 'nel', 'report-to', 'alt-svc']
            return self.say('spoken', headers=[(name, 'x') for name in names] + [('content-security-policy', "default-src 'self'")])
        if path == '/page':
            text = b'<!doctype html><title>inside</title><h1>hello from inside</h1>'
            self.send_response(200)
            self.send_header('content-type', 'text/html')
            self.send_header('content-length', str(len(text)))
            self.end_headers()
            return self.wfile.write(text)
        digest, size = hashlib.sha256(), 0
        note('%s-begun' % name)
        try:
            for piece in self.body():
                digest.update(piece)
                size += len(piece)
        except ConnectionError:
            note('%s-cut' % name)
            self.close_connection = True
            return
        note('%s-whole' % name)
        headers = [[name.lower(), value] for name, value in self.headers.items()]
        self.say({'method': self.command, 'path': self.path, 'headers': headers, 'size': size, 'sha256': digest.hexdigest()})

    def socket(self, name):
        if name == 'refuse':
            return self.say('no', 403)
        key = self.headers['sec-websocket-key'].encode() + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        self.send_response(101)
        self.send_header('upgrade', 'websocket')
        self.send_header('connection', 'Upgrade')
        self.send_header('sec-websocket-accept', base64.b64encode(hashlib.sha1(key).digest()).decode())
        for word in self.headers.get('sec-websocket-protocol', '').split(',')[:1]:
            if word:
                self.send_header('sec-websocket-protocol', word)
        self.end_headers()
        self.frame(1, json.dumps([[name.lower(), value] for name, value in self.headers.items()]).encode())
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                break
            size = head[1] & 127
            if size == 126:
                size = struct.unpack('>H', self.rfile.read(2))[0]
            elif size == 127:
                size = struct.unpack('>Q', self.rfile.read(8))[0]
            mask = self.rfile.read(4)
            text = self.rfile.read(size)
            text = bytes(a ^ b for a, b in zip(text, mask * (size // 4 + 1)))
            self.frame(head[0] & 15, text)
            if head[0] & 15 == 8:
                break
        note(name)
        self.close_connection = True

    def frame(self, kind, text):
        size = len(text)
        head = bytes([128 | kind]) + (bytes([size]) if size < 126 else struct.pack('>BH', 126, size) if size < 65536 else struct.pack('>BQ', 127, size))
        self.wfile.write(head + text)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = handle_all

server = ThreadingHTTPServer((sys.argv[2] if len(sys.argv) > 2 else '127.0.0.1', int(sys.argv[1])), App)
server.daemon_threads = True
print('ready', flush=True)
server.serve_forever()
`
