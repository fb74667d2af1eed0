/* A stand-in for libnvidia-ml.so.1. It answers what the file named by FAKE_NVML says, one setting a line:
 *   init 18 | driver 580.105.08 | library 13.580 | cuda 13000 | count_error 999
 *   gpu bus=00000000:17:00.0 name=NVIDIA_H100 memory=85520809984 minor=0 mig=1/1 maxmig=7 handle=15 nvlinks=18
 *       peer=switch xid=79 processes=2 ecc=1/1 eccerrors=3 uuid=GPU-... recovery=1 numa=1 arch=9
 *   mig parent=0 uuid=MIG-... name=NVIDIA_A100_MIG_1g.5gb gi=7 ci=0 profile=19 start=0 size=1 memory=4864
 *   fail nvmlDeviceGetMemoryInfo 999 [index]
 *   hang nvmlDeviceGetName
 * Underscores in names stand for blanks. Without a file the driver is not loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
enum { SUCCESS = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NOT_LOADED = 9, TIMEOUT = 10 };

typedef struct {
    char bus[32], name[96], uuid[96], serial[32], peer[32];
    u64 memory, eccerrors;
    int minor, mig, pending, maxmig, handle, nvlinks, down, xid, processes, ecc, eccpending, recovery, numa, arch;
    int is_mig, parent, gi, ci, profile, start, size;
    u64 megabytes;
} Gpu;

static Gpu gpus[32], migs[64];
static int gpu_count, mig_count, init_result, count_error, cuda = 13000, loaded;
static char driver[64] = "580.105.08", library[64] = "13.580.105.08";
static struct { char call[64]; int result, index; } failures[32];
static int failure_count;
static char hang[64];

static void word(const char *line, const char *key, char *to, size_t size) {
    char pattern[40];
    snprintf(pattern, sizeof pattern, " %s=", key);
    const char *at = strstr(line, pattern);
    if (!at) return;
    at += strlen(pattern);
    size_t n = 0;
    while (at[n] && at[n] != ' ' && at[n] != '\n' && n + 1 < size) { to[n] = at[n] == '_' ? ' ' : at[n]; n++; }
    to[n] = 0;
}
static long long number(const char *line, const char *key, long long otherwise) {
    char text[40] = "";
    word(line, key, text, sizeof text);
    return text[0] ? atoll(text) : otherwise;
}
static void pair(const char *line, const char *key, int *one, int *two) {
    char text[40] = "";
    word(line, key, text, sizeof text);
    if (text[0]) { *one = atoi(text); char *slash = strchr(text, '/'); *two = slash ? atoi(slash + 1) : *one; }
}
static void load(void) {
    if (loaded) return;
    loaded = 1;
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) { init_result = NOT_LOADED; return; }
    char line[512];
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "init %d", &init_result);
        sscanf(line, "driver %63s", driver);
        sscanf(line, "library %63s", library);
        sscanf(line, "cuda %d", &cuda);
        sscanf(line, "count_error %d", &count_error);
        sscanf(line, "hang %63s", hang);
        if (!strncmp(line, "fail ", 5)) {
            failures[failure_count].index = -1;
            sscanf(line, "fail %63s %d %d", failures[failure_count].call, &failures[failure_count].result,
                   &failures[failure_count].index);
            failure_count++;
        }
        if (!strncmp(line, "gpu ", 4) || !strncmp(line, "mig ", 4)) {
            int is_mig = line[0] == 'm';
            Gpu *gpu = is_mig ? &migs[mig_count++] : &gpus[gpu_count++];
            gpu->is_mig = is_mig;
            gpu->mig = -1; gpu->ecc = -1; gpu->numa = -1; gpu->recovery = -1; gpu->processes = -1;
            word(line, "bus", gpu->bus, sizeof gpu->bus);
            word(line, "name", gpu->name, sizeof gpu->name);
            word(line, "uuid", gpu->uuid, sizeof gpu->uuid);
            word(line, "serial", gpu->serial, sizeof gpu->serial);
            word(line, "peer", gpu->peer, sizeof gpu->peer);
            gpu->memory = number(line, is_mig ? "bytes" : "memory", 0);
            gpu->megabytes = number(line, "memory", 0);
            gpu->minor = number(line, "minor", -1);
            gpu->maxmig = number(line, "maxmig", 0);
            gpu->handle = number(line, "handle", 0);
            gpu->nvlinks = number(line, "nvlinks", 0);
            gpu->down = number(line, "down", 0);
            gpu->xid = number(line, "xid", 0);
            gpu->processes = number(line, "processes", -1);
            gpu->eccerrors = number(line, "eccerrors", 0);
            gpu->recovery = number(line, "recovery", -1);
            gpu->numa = number(line, "numa", -1);
            gpu->arch = number(line, "arch", 0);
            pair(line, "mig", &gpu->mig, &gpu->pending);
            pair(line, "ecc", &gpu->ecc, &gpu->eccpending);
            gpu->parent = number(line, "parent", 0);
            gpu->gi = number(line, "gi", -1);
            gpu->ci = number(line, "ci", -1);
            gpu->profile = number(line, "profile", -1);
            gpu->start = number(line, "start", 0);
            gpu->size = number(line, "size", 1);
        }
    }
    fclose(file);
}
static int index_of(const Gpu *gpu) { return gpu->is_mig ? 100 + (int)(gpu - migs) : (int)(gpu - gpus); }
static int fails(const char *call, const Gpu *gpu) {
    if (!strcmp(call, hang)) sleep(600);
    for (int n = 0; n < failure_count; n++)
        if (!strcmp(failures[n].call, call) && (failures[n].index < 0 || (gpu && failures[n].index == index_of(gpu))))
            return failures[n].result;
    return SUCCESS;
}
#define CHECK(gpu) do { int bad = fails(__func__, gpu); if (bad) return bad; } while (0)
#define TEXT(field) do { if (!(field)[0]) return UNSUPPORTED; snprintf(out, size, "%s", field); return SUCCESS; } while (0)

int nvmlInitWithFlags(u32 flags) { (void)flags; load(); return init_result; }
int nvmlInit_v2(void) { load(); return init_result; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int result) { return result == 15 ? "GPU is lost" : "error"; }
int nvmlSystemGetDriverVersion(char *out, u32 size) { CHECK(NULL); TEXT(driver); }
int nvmlSystemGetNVMLVersion(char *out, u32 size) { CHECK(NULL); TEXT(library); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { CHECK(NULL); *out = cuda; return SUCCESS; }
int nvmlDeviceGetCount_v2(u32 *out) { if (count_error) return count_error; *out = gpu_count; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, Gpu **out) {
    if (index >= (u32)gpu_count) return INVALID;
    if (gpus[index].handle) return gpus[index].handle;
    *out = &gpus[index];
    return SUCCESS;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, Gpu **out) {
    for (int n = 0; n < gpu_count; n++)
        if (!strcasecmp(gpus[n].bus, bus)) { if (gpus[n].handle) return gpus[n].handle; *out = &gpus[n]; return SUCCESS; }
    return NOT_FOUND;
}
typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char text[32]; } Pci;
static int place(const char *bus, Pci *out) {
    memset(out, 0, sizeof *out);
    if (!bus[0]) return UNSUPPORTED;
    snprintf(out->text, sizeof out->text, "%s", bus);
    snprintf(out->legacy, sizeof out->legacy, "%s", bus + 4);
    return SUCCESS;
}
int nvmlDeviceGetPciInfo_v3(Gpu *gpu, Pci *out) { CHECK(gpu); return place(gpu->bus, out); }
int nvmlDeviceGetName(Gpu *gpu, char *out, u32 size) { CHECK(gpu); TEXT(gpu->name); }
int nvmlDeviceGetUUID(Gpu *gpu, char *out, u32 size) { CHECK(gpu); TEXT(gpu->uuid); }
int nvmlDeviceGetSerial(Gpu *gpu, char *out, u32 size) { CHECK(gpu); TEXT(gpu->serial); }
int nvmlDeviceGetMinorNumber(Gpu *gpu, u32 *out) { CHECK(gpu); if (gpu->minor < 0) return UNSUPPORTED; *out = gpu->minor; return 0; }
int nvmlDeviceGetArchitecture(Gpu *gpu, u32 *out) { CHECK(gpu); if (!gpu->arch) return UNSUPPORTED; *out = gpu->arch; return 0; }
int nvmlDeviceGetBrand(Gpu *gpu, u32 *out) { CHECK(gpu); *out = 14; return SUCCESS; }
int nvmlDeviceGetCudaComputeCapability(Gpu *gpu, int *major, int *minor) {
    CHECK(gpu);
    if (!gpu->arch) return UNSUPPORTED;
    *major = gpu->arch == 7 ? 8 : gpu->arch; *minor = 0;
    return SUCCESS;
}
typedef struct { u64 total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(Gpu *gpu, Memory *out) {
    CHECK(gpu);
    if (!gpu->memory) return UNSUPPORTED;
    out->total = gpu->memory; out->free = gpu->memory; out->used = 0;
    return SUCCESS;
}
int nvmlDeviceGetPersistenceMode(Gpu *gpu, u32 *out) { CHECK(gpu); *out = 1; return SUCCESS; }
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *gpu, u32 *count, void *infos) {
    CHECK(gpu);
    if (gpu->processes < 0) return UNSUPPORTED;
    if (*count < (u32)gpu->processes) { *count = gpu->processes; return TOO_SMALL; }
    if (infos) memset(infos, 0, gpu->processes * 24);
    *count = gpu->processes;
    return SUCCESS;
}
int nvmlDeviceGetEccMode(Gpu *gpu, u32 *now, u32 *then) {
    CHECK(gpu);
    if (gpu->ecc < 0) return UNSUPPORTED;
    *now = gpu->ecc; *then = gpu->eccpending;
    return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(Gpu *gpu, u32 type, u32 counter, u64 *out) { (void)type; (void)counter; CHECK(gpu); *out = gpu->eccerrors; return 0; }
int nvmlDeviceGetMigMode(Gpu *gpu, u32 *now, u32 *then) {
    CHECK(gpu);
    if (gpu->mig < 0) return UNSUPPORTED;
    *now = gpu->mig; *then = gpu->pending;
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(Gpu *gpu, u32 *out) { CHECK(gpu); *out = gpu->maxmig; return SUCCESS; }
int nvmlDeviceGetMigDeviceHandleByIndex(Gpu *gpu, u32 index, Gpu **out) {
    CHECK(gpu);
    for (int n = 0; n < mig_count; n++)
        if (migs[n].parent == index_of(gpu) && !index--) { *out = &migs[n]; return SUCCESS; }
    return NOT_FOUND;
}
int nvmlDeviceGetGpuInstanceId(Gpu *gpu, u32 *out) { CHECK(gpu); if (gpu->gi < 0) return UNSUPPORTED; *out = gpu->gi; return 0; }
int nvmlDeviceGetComputeInstanceId(Gpu *gpu, u32 *out) { CHECK(gpu); if (gpu->ci < 0) return UNSUPPORTED; *out = gpu->ci; return 0; }
typedef struct { u32 sms, copy, decoders, encoders, jpeg, ofa, gpu_slices, compute_slices; u64 megabytes; } Attributes;
int nvmlDeviceGetAttributes_v2(Gpu *gpu, Attributes *out) {
    CHECK(gpu);
    if (!gpu->is_mig) return UNSUPPORTED;
    memset(out, 0, sizeof *out);
    out->megabytes = gpu->megabytes;
    return SUCCESS;
}
int nvmlDeviceGetGpuInstanceById(Gpu *gpu, u32 id, Gpu **out) {
    CHECK(gpu);
    for (int n = 0; n < mig_count; n++)
        if (migs[n].parent == index_of(gpu) && migs[n].gi == (int)id) { *out = &migs[n]; return SUCCESS; }
    return NOT_FOUND;
}
typedef struct { Gpu *device; u32 id, profile, start, size; } InstanceInfo;
int nvmlGpuInstanceGetInfo(Gpu *gpu, InstanceInfo *out) {
    CHECK(gpu);
    out->device = &gpus[gpu->parent]; out->id = gpu->gi; out->profile = gpu->profile; out->start = gpu->start; out->size = gpu->size;
    return SUCCESS;
}
int nvmlDeviceGetNvLinkState(Gpu *gpu, u32 link, u32 *out) {
    CHECK(gpu);
    if (!gpu->nvlinks || link >= (u32)gpu->nvlinks) return gpu->nvlinks ? INVALID : UNSUPPORTED;
    *out = link >= (u32)gpu->down;
    return SUCCESS;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Gpu *gpu, u32 link, u32 *out) { (void)link; CHECK(gpu); *out = strcmp(gpu->peer, "switch") ? 0 : 2; return 0; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu *gpu, u32 link, Pci *out) { (void)link; CHECK(gpu); return place(gpu->peer, out); }
int nvmlDeviceGetNumaNodeId(Gpu *gpu, int *out) { CHECK(gpu); if (gpu->numa < 0) return UNSUPPORTED; *out = gpu->numa; return 0; }
typedef struct { u32 field, scope; long long time, latency; int type, result; union { u32 u; u64 ull; } value; } FieldValue;
int nvmlDeviceGetFieldValues(Gpu *gpu, int count, FieldValue *values) {
    CHECK(gpu);
    for (int n = 0; n < count; n++) {
        values[n].result = values[n].field == 230 && gpu->recovery >= 0 ? SUCCESS : UNSUPPORTED;
        values[n].value.u = gpu->recovery < 0 ? 0 : gpu->recovery;
    }
    return SUCCESS;
}
/* events */
static int event_set;
int nvmlEventSetCreate(void **out) { CHECK(NULL); *out = &event_set; return SUCCESS; }
int nvmlDeviceRegisterEvents(Gpu *gpu, u64 types, void *set) { (void)types; (void)set; CHECK(gpu); return SUCCESS; }
typedef struct { Gpu *device; u64 type, data; u32 gi, ci; } Event;
int nvmlEventSetWait_v2(void *set, Event *out, u32 milliseconds) {
    (void)set; (void)milliseconds;
    for (int n = 0; n < gpu_count; n++)
        if (gpus[n].xid) {
            memset(out, 0, sizeof *out);
            out->device = &gpus[n]; out->type = 8; out->data = gpus[n].xid;
            gpus[n].xid = 0;
            return SUCCESS;
        }
    return TIMEOUT;
}
int nvmlEventSetFree(void *set) { (void)set; return SUCCESS; }
