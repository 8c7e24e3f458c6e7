/* A PKCS #11 module that forwards to SoftHSM and fails as files in a folder say.
 *
 * `removed`        the token is not there, and its sessions are closed
 * `close-all`      C_CloseAllSessions comes before the next call, as from elsewhere in the process
 * `hold-sign`      C_Sign returns when the file is gone
 * `hold-generate`  C_GenerateKey and C_GenerateKeyPair have made the key, and return when the file is gone
 * `fail-after`     the next generation makes the key and returns the code in the file
 * `fail-before`    the next generation makes nothing and returns the code in the file
 * `dialect`        RSA-OAEP with SHA-256 is forwarded as with SHA-1, and AES key wrap with padding as without,
 *                  because SoftHSM 2.6 has neither
 * `own-nonce`      AES-GCM encrypts with a nonce of the token's own, which it writes into the parameter
 * `absurd-length`  C_Sign says once that a signature has half of all bytes that there can be
 * `hold-load`      C_GetFunctionList returns when the file is gone
 * `hold-finalize`  C_Finalize returns when the file is gone
 * `inside`         gets a byte when C_Finalize is called while C_Sign has not returned
 * `finalized`, `signs`, `logins`, `generated`  get a byte for each call
 *
 * The folder is in RIALTO_TEST_CONTROL, the module behind in RIALTO_TEST_MODULE.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long rv;
typedef unsigned long handle;
typedef struct { unsigned long type; void *parameter; unsigned long length; } mechanism;
typedef struct { unsigned long hash, mgf, source; void *data; unsigned long length; } oaep;
typedef struct { unsigned char *iv; unsigned long length, bits; void *associated; unsigned long n, tag; } gcm;
typedef struct { unsigned char version[2]; void *functions[68]; } list;

enum { FINALIZE = 1, GET_SLOT_LIST = 4, GET_TOKEN_INFO = 6, MECHANISM_LIST = 7, MECHANISM_INFO = 8, OPEN_SESSION = 12,
       CLOSE_ALL = 14, SESSION_INFO = 15, LOGIN = 18, FIND_INIT = 26, ENCRYPT_INIT = 29, SIGN_INIT = 42, SIGN = 43,
       GENERATE = 58, GENERATE_PAIR = 59, UNWRAP = 61 };
enum { DEVICE_REMOVED = 0x32, TOKEN_NOT_PRESENT = 0xe0, BAD_PARAMETER = 0x71 };
enum { SHA1 = 0x220, SHA256 = 0x250, MGF1_SHA1 = 1, MGF1_SHA256 = 2, OAEP = 9, KEY_WRAP = 0x2109, KEY_WRAP_PAD = 0x210a,
       AES_GCM = 0x1087 };

static list *real, ours;
static int signing;

static void path(char *to, const char *name) { snprintf(to, 4096, "%s/%s", getenv("RIALTO_TEST_CONTROL"), name); }
static int is_there(const char *name) { char file[4096]; path(file, name); return access(file, F_OK) == 0; }
static void wait_while(const char *name) { while (is_there(name)) usleep(1000); }
static void count(const char *name) {
    char file[4096]; path(file, name);
    FILE *to = fopen(file, "a"); if (to) { fputc('.', to); fclose(to); }
}
/* The code in a file, which is then gone. */
static rv taken(const char *name) {
    char file[4096]; unsigned long code = 0; path(file, name);
    FILE *from = fopen(file, "r"); if (!from) return 0;
    if (fscanf(from, "%lu", &code) != 1) code = 0;
    fclose(from); unlink(file); return code;
}
#define REAL(type, index) ((type)real->functions[index])

static void close_all(void) {
    unsigned long slots[16], n = 16;
    if (!REAL(rv (*)(unsigned char, unsigned long *, unsigned long *), GET_SLOT_LIST)(1, slots, &n))
        for (unsigned long i = 0; i < n; i++) REAL(rv (*)(unsigned long), CLOSE_ALL)(slots[i]);
}
static int removed(void) {
    char file[4096]; path(file, "close-all");
    if (unlink(file) == 0) close_all();
    if (!is_there("removed")) return 0;
    close_all();
    return 1;
}
static rv get_slot_list(unsigned char present, unsigned long *slots, unsigned long *n) {
    if (removed()) { *n = 0; return 0; }
    return REAL(rv (*)(unsigned char, unsigned long *, unsigned long *), GET_SLOT_LIST)(present, slots, n);
}
static rv get_token_info(unsigned long slot, void *info) {
    return removed() ? TOKEN_NOT_PRESENT : REAL(rv (*)(unsigned long, void *), GET_TOKEN_INFO)(slot, info);
}
static rv mechanism_list(unsigned long slot, unsigned long *all, unsigned long *n) {
    unsigned long room = *n;
    rv code = REAL(rv (*)(unsigned long, unsigned long *, unsigned long *), MECHANISM_LIST)(slot, all, n);
    if (code || !is_there("dialect")) return code;
    if (all && *n < room) all[*n] = KEY_WRAP_PAD;
    ++*n; return 0;
}
static rv mechanism_info(unsigned long slot, unsigned long type, void *info) {
    if (type == KEY_WRAP_PAD && is_there("dialect")) type = KEY_WRAP;
    return REAL(rv (*)(unsigned long, unsigned long, void *), MECHANISM_INFO)(slot, type, info);
}
static rv open_session(unsigned long slot, unsigned long flags, void *a, void *b, handle *session) {
    return removed() ? TOKEN_NOT_PRESENT
        : REAL(rv (*)(unsigned long, unsigned long, void *, void *, handle *), OPEN_SESSION)(slot, flags, a, b, session);
}
static rv session_info(handle session, void *info) {
    return removed() ? DEVICE_REMOVED : REAL(rv (*)(handle, void *), SESSION_INFO)(session, info);
}
static rv login(handle session, unsigned long user, unsigned char *pin, unsigned long n) {
    count("logins");
    return removed() ? DEVICE_REMOVED
        : REAL(rv (*)(handle, unsigned long, unsigned char *, unsigned long), LOGIN)(session, user, pin, n);
}
static rv find_init(handle session, void *attributes, unsigned long n) {
    return removed() ? DEVICE_REMOVED : REAL(rv (*)(handle, void *, unsigned long), FIND_INIT)(session, attributes, n);
}
/* The mechanism in SoftHSM's dialect. */
static rv translated(const mechanism *from, mechanism *to, oaep *parameters) {
    *to = *from;
    if (!is_there("dialect")) return 0;
    if (from->type == KEY_WRAP_PAD) to->type = KEY_WRAP;
    if (from->type == OAEP) {
        *parameters = *(oaep *)from->parameter;
        if (parameters->hash != SHA256 || parameters->mgf != MGF1_SHA256) return BAD_PARAMETER;
        parameters->hash = SHA1; parameters->mgf = MGF1_SHA1; to->parameter = parameters;
    }
    return 0;
}
static rv encrypt_init(handle session, mechanism *how, handle key) {
    if (how->type == AES_GCM && is_there("own-nonce")) {
        gcm *parameters = how->parameter; memset(parameters->iv, 0x5a, parameters->length);
    }
    mechanism other; oaep parameters; rv code = translated(how, &other, &parameters);
    return code ? code : REAL(rv (*)(handle, mechanism *, handle), ENCRYPT_INIT)(session, &other, key);
}
static rv unwrap(handle session, mechanism *how, handle key, void *wrapped, unsigned long n, void *attributes,
                 unsigned long count, handle *made) {
    mechanism other; oaep parameters; rv code = translated(how, &other, &parameters);
    return code ? code
        : REAL(rv (*)(handle, mechanism *, handle, void *, unsigned long, void *, unsigned long, handle *), UNWRAP)(
            session, &other, key, wrapped, n, attributes, count, made);
}
static rv sign_init(handle session, mechanism *how, handle key) {
    return removed() ? DEVICE_REMOVED : REAL(rv (*)(handle, mechanism *, handle), SIGN_INIT)(session, how, key);
}
static rv sign(handle session, void *data, unsigned long n, void *signature, unsigned long *m) {
    if (!signature && taken("absurd-length")) { *m = 1UL << 63; return 0; }
    __sync_fetch_and_add(&signing, 1);
    count("signs");
    wait_while("hold-sign");
    __sync_fetch_and_sub(&signing, 1);
    return removed() ? DEVICE_REMOVED
        : REAL(rv (*)(handle, void *, unsigned long, void *, unsigned long *), SIGN)(session, data, n, signature, m);
}
static rv finalize(void *reserved) {
    count("finalized");
    if (signing) count("inside");
    wait_while("hold-finalize");
    return REAL(rv (*)(void *), FINALIZE)(reserved);
}
static rv generated(rv code) {
    count("generated");
    wait_while("hold-generate");
    return code ? code : taken("fail-after");
}
static rv generate(handle session, mechanism *how, void *attributes, unsigned long n, handle *key) {
    rv code = removed() ? DEVICE_REMOVED : taken("fail-before");
    return code ? code : generated(REAL(rv (*)(handle, mechanism *, void *, unsigned long, handle *), GENERATE)(
        session, how, attributes, n, key));
}
static rv generate_pair(handle session, mechanism *how, void *a, unsigned long n, void *b, unsigned long m,
                        handle *public, handle *private) {
    rv code = removed() ? DEVICE_REMOVED : taken("fail-before");
    return code ? code
        : generated(REAL(rv (*)(handle, mechanism *, void *, unsigned long, void *, unsigned long, handle *, handle *),
                         GENERATE_PAIR)(session, how, a, n, b, m, public, private));
}

rv C_GetFunctionList(list **to) {
    wait_while("hold-load");
    if (!real) {
        void *library = dlopen(getenv("RIALTO_TEST_MODULE"), RTLD_NOW | RTLD_LOCAL);
        rv (*get)(list **) = library ? (rv (*)(list **))dlsym(library, "C_GetFunctionList") : NULL;
        if (!get || get(&real)) return 5;
        ours = *real;
        void *instead[][2] = {
            {(void *)FINALIZE, finalize}, {(void *)GET_SLOT_LIST, get_slot_list}, {(void *)GET_TOKEN_INFO, get_token_info},
            {(void *)MECHANISM_LIST, mechanism_list}, {(void *)MECHANISM_INFO, mechanism_info},
            {(void *)OPEN_SESSION, open_session}, {(void *)SESSION_INFO, session_info}, {(void *)LOGIN, login},
            {(void *)FIND_INIT, find_init}, {(void *)ENCRYPT_INIT, encrypt_init}, {(void *)SIGN_INIT, sign_init},
            {(void *)SIGN, sign}, {(void *)GENERATE, generate}, {(void *)GENERATE_PAIR, generate_pair},
            {(void *)UNWRAP, unwrap},
        };
        for (unsigned i = 0; i < sizeof instead / sizeof *instead; i++)
            ours.functions[(size_t)instead[i][0]] = instead[i][1];
    }
    *to = &ours;
    return 0;
}
